import { expect, it } from 'vitest'
import type { Database } from '../../../../src/adapters/postgres/connection/database.js'
import { whileWatched } from '../../../../src/adapters/postgres/migrate/waiting.js'

it('a migration that looks again and again for an index of another process ends at its signal', async () => {
  const stop = new AbortController()
  const reason = new Error('enough')
  const looks: string[] = []
  const database: Database = {
    async run({ name }) {
      if (name === 'look' && looks.push(name) === 2) stop.abort(reason)
      return Promise.resolve([])
    },
    script: () => Promise.resolve([]),
  }
  const migration = whileWatched(database, { signal: stop.signal }, async (watched) => {
    for (let look = 0; look < 10; look++) await watched.run({ name: 'look', text: '' }, [])
  })
  await expect(migration).rejects.toBe(reason)
  expect(looks).toHaveLength(2)
})
