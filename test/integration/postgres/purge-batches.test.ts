import { createAttemptId } from '@svc/db'
import type { StoreDriver } from '@svc/db/adapter'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { createPostgresDriver } from '../../../src/adapters/postgres/driver.js'
import { schemaName } from '../../../src/adapters/postgres/sql/schema-name.js'
import { reserveCommand } from '../../unit/core/store/lifecycle/commands.js'
import { afterNoon } from '../../unit/core/settable-clock.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const BATCH_SIZE = 200
const purge = { scope: null, before: afterNoon(120_000), limit: 1000, now: afterNoon(120_000) }

describePostgres('purgeExpired, if its second transaction fails', (url) => {
  const schema = freshSchema()
  const pool = poolOf(url)
  let proxy: WireProxy
  let proxied: ReturnType<typeof poolOf>
  let driver: StoreDriver
  let beforeSecond = async () => {}
  beforeAll(async () => {
    proxy = await wireProxy(url)
    proxied = poolOf(proxy.url, { max: 1 })
    const database = pgDatabase(proxied, { named: true })
    let purges = 0
    const interrupted: typeof database = {
      ...database,
      async run(statement, values) {
        if (statement.text.includes('purge_expired') && ++purges % 2 === 0) await beforeSecond()
        return database.run(statement, values)
      },
    }
    const options = {
      database: interrupted,
      readDatabase: interrupted,
      schema: schemaName('postgresAdapter', schema),
    }
    driver = createPostgresDriver(options)
    await driver.migrate()
  })
  beforeEach(async () => {
    const reserve = (key: string, more: object) =>
      driver.reserve(reserveCommand({ key, id: createAttemptId(), ...more }))
    await Promise.all(
      Array.from({ length: BATCH_SIZE }, (_, i) => reserve(`${i}`, { expiresAt: afterNoon(60_000) })),
    )
    await reserve('last', { scope: 'user:2', expiresAt: afterNoon(60_001) })
  })
  afterAll(async () => {
    await proxied.end()
    await proxy.close()
    await dropSchema(pool, schema)
    await pool.end()
  })

  it('returns the purged rows and isUncertain after a lost response', async () => {
    beforeSecond = async () => proxy.dropNextResponse()
    const { rows, scopes, isUncertain } = await driver.purgeExpired(purge)
    expect(rows).toHaveLength(BATCH_SIZE)
    expect({ scopes, isUncertain }).toEqual({ scopes: ['user:1'], isUncertain: true })
    expect(await driver.usage('user:2')).toMatchObject({ reservedFiles: 0 })
  })

  it('returns exactly the purged rows after an error of the database', async () => {
    const rename = (from: string, to: string) =>
      pool.query(`ALTER FUNCTION ${quoted(schema)}.${from} RENAME TO ${to}`)
    beforeSecond = async () => void (await rename('purge_expired_v1', 'renamed'))
    const { rows, scopes, isUncertain } = await driver.purgeExpired(purge)
    expect(rows).toHaveLength(BATCH_SIZE)
    expect({ scopes, isUncertain }).toEqual({ scopes: ['user:1'], isUncertain: false })
    expect(await driver.usage('user:2')).toMatchObject({ reservedFiles: 1 })
    await rename('renamed', 'purge_expired_v1')
  })
})
