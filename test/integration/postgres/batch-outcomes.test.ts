import { createAttemptId } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { partsOf } from '../../../src/core/store/store-parts.js'
import { reserveCommand } from '../../unit/core/store/lifecycle/commands.js'
import { afterNoon } from '../../unit/core/settable-clock.js'
import { describePostgres, migratedSchema, poolOf, quoted } from './schemas.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

/** Rows of one transaction of a purge. */
const BATCH_SIZE = 200

describePostgres('the driver reports the scopes that a write touched:', (url) => {
  const pool = poolOf(url)
  const schema = migratedSchema(pool)
  const { driver } = partsOf(postgresAdapter(pool, { schema }))!

  it('a batch of reserves that replaces expired reservations of another scope', async () => {
    const keys = ['x', 'y', 'z']
    const attempt = (key: string, more: object = {}) =>
      driver.reserve(reserveCommand({ key, id: createAttemptId(), ...more }))
    for (const key of keys) await attempt(key)
    const later = { scope: 'user:3', now: afterNoon(120_000), expiresAt: afterNoon(180_000) }
    const results = await Promise.all(['p', 'q', ...keys].map((key) => attempt(key, later)))
    const own = { outcome: 'reserved', scopes: ['user:3'] }
    const both = { outcome: 'reserved', scopes: ['user:3', 'user:1'] }
    expect(results).toMatchObject([own, own, both, both, both])
  })

  describe('a purge whose second transaction fails:', () => {
    const purge = { scope: null, before: afterNoon(120_000), limit: 1000, now: afterNoon(120_000) }
    let proxy: WireProxy
    let proxied: ReturnType<typeof poolOf>
    let beforeSecond: () => Promise<unknown>
    beforeAll(async () => {
      proxy = await wireProxy(url)
      proxied = poolOf(proxy.url, { max: 1 })
      const query = proxied.query.bind(proxied) as (statement: unknown) => Promise<unknown>
      let purges = 0
      const intercepted = async (statement: unknown) => {
        if (JSON.stringify(statement).includes('purge_expired') && ++purges % 2 === 0) await beforeSecond()
        return query(statement)
      }
      Object.assign(proxied, { query: intercepted })
    })
    beforeEach(async () => {
      await pool.query(`DELETE FROM ${quoted(schema)}.objects; DELETE FROM ${quoted(schema)}.scope_usage`)
      const reserve = (key: string, more: object) =>
        driver.reserve(reserveCommand({ key, id: createAttemptId(), ...more }))
      const first = Array.from({ length: BATCH_SIZE }, (_, i) => `${i}`)
      await Promise.all(first.map((key) => reserve(key, { expiresAt: afterNoon(60_000) })))
      await reserve('last', { scope: 'user:2', expiresAt: afterNoon(60_001) })
    })
    afterAll(async () => {
      await proxied.end()
      await proxy.close()
    })
    const purgeThrough = () => partsOf(postgresAdapter(proxied, { schema }))!.driver.purgeExpired(purge)

    async function expectPurged(isUncertain: boolean, reservedFiles: number): Promise<void> {
      const { rows, isUncertain: isKnownUncertain } = await purgeThrough()
      expect(rows).toHaveLength(BATCH_SIZE)
      expect(isKnownUncertain).toBe(isUncertain)
      expect(await driver.usage('user:2')).toMatchObject({ reservedFiles })
    }

    it('the purged rows, marked as uncertain, after a lost response', async () => {
      beforeSecond = async () => proxy.dropNextResponse()
      await expectPurged(true, 0)
    })

    it('exactly the purged rows after an error of the database', async () => {
      const rename = (from: string, to: string) =>
        pool.query(`ALTER FUNCTION ${quoted(schema)}.${from} RENAME TO ${to}`)
      beforeSecond = () => rename('purge_expired_v2', 'renamed')
      await expectPurged(false, 1)
      await rename('renamed', 'purge_expired_v2')
    })
  })
})
