import { fileURLToPath } from 'node:url'
import { postgresAdapter } from '@svc/db/postgres'
import { storeRaces } from '@svc/db/conformance'
import { afterAll, describe, expect, it } from 'vitest'
import { bundleWorker } from '../races/bundled-worker.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from './schemas.js'

const worker = await bundleWorker(fileURLToPath(new URL('./store-races-process.ts', import.meta.url)))
afterAll(() => worker.remove())

describePostgres('storeRaces of the conformance suite', (url) => {
  const pool = poolOf(url)
  afterAll(() => pool.end())

  const schemaOf = (place: string) => (JSON.parse(place) as { schema: string }).schema
  const options = {
    worker: worker.file,
    async createPlace() {
      const schema = freshSchema()
      await postgresAdapter(pool, { schema }).migrate()
      return JSON.stringify({ url, schema })
    },
    open: (place: string) => postgresAdapter(pool, { schema: schemaOf(place) }),
    drop: (place: string) => dropSchema(pool, schemaOf(place)),
    processes: 2,
    calls: 60,
  }

  storeRaces({ name: 'postgresAdapter', ...options, test: { describe, it } })

  it('reject a store whose count differs from its rows', async () => {
    const tests: (() => Promise<void>)[] = []
    storeRaces({
      name: 'broken',
      ...options,
      open: (place) => ({ ...options.open(place), countByScope: async () => 0 }),
      test: { describe: (_, body) => body(), it: (_, run) => tests.push(run) },
    })
    await expect(tests[0]!()).rejects.toThrow('countByScope, against the rows')
  })

  it('refuse invalid options', () => {
    const test = { describe, it }
    expect(() => storeRaces({ name: 'one', ...options, processes: 1, test })).toThrow(TypeError)
    expect(() => storeRaces({ name: 'none', ...options, calls: 1, test })).toThrow(TypeError)
  })
})
