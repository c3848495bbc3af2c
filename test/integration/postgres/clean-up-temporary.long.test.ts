import { cleanUp } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { expect, it } from 'vitest'
import { ManualClock } from '../../conformance/clock.js'
import { heapSamples } from '../../unit/server/heap-samples.js'
import { startService } from '../../unit/server/service.js'
import { attempt, BUCKET } from './attempt.js'
import { describePostgres, inTransaction, migratedSchema, poolOf, quoted } from './schemas.js'

const DUE = 100_000
const HOUR = 3_600_000
const DAY = 24 * HOUR

describePostgres('cleanUp on Postgres', (url) => {
  const pool = poolOf(url)
  const schema = migratedSchema(pool)

  it('removes 100,000 objects past their end in flat memory, and passes over keys that transactions hold', async () => {
    const store = postgresAdapter(pool, { schema })
    await addTemporary()
    const held = ['held', 'locked', 'counted']
    for (const key of held) {
      const { id } = await store.reserve({ ...attempt(key, key), temporarySeconds: 3600 })
      await store.confirm({ bucket: BUCKET, key, id, size: 5 })
    }
    // It goes on, so the run leaves the leftovers of what it removes to the next one.
    const clock = Object.assign(new ManualClock(), { now: () => new Date(Date.now() + DAY) })
    const service = startService({
      ...{ clock, bucket: BUCKET, objects: postgresAdapter(pool, { schema, now: clock.now }) },
    })
    const heap = heapSamples(20_000)
    const run = async () => (await cleanUp(service.s3, { onProgress: heap.onProgress })).temporary
    await inTransaction(pool, async (holder) => {
      const holding = postgresAdapter(holder, { schema })
      await holding.update({ bucket: BUCKET, key: 'held', filename: 'a.txt' })
      await holder.query(`SELECT FROM ${quoted(schema)}.objects WHERE key = 'locked' FOR KEY SHARE`)
      await holding.reserve(attempt('another', 'counted'))
      expect(await run()).toEqual({ removed: DUE, kept: held.length, failed: 0 })
    })
    expect(heap.result.count).toBe(5)
    expect(heap.result.growth).toBeLessThan(8)
    expect(await run()).toEqual({ removed: held.length, kept: 0, failed: 0 })
    expect(await store.checkUsage()).toEqual([])
  })

  /** Adds objects of 1000 scopes that end in an hour, without a call for each. */
  async function addTemporary(): Promise<void> {
    const id = `('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`
    const numbers = `generate_series(1, ${DUE}) n`
    // A microsecond of `writable_until` marks rows with terms.
    await pool.query(`
      INSERT INTO ${quoted(schema)}.objects (id, attempt_id, scope, bucket, key, status, size, created_at, updated_at,
        confirmed_at, writable_until, storage_key)
      SELECT ${id}, ${id}, 'user:' || n % 1000, '${BUCKET}', 'drafts/' || n, 'active', 5, now(), now(),
        now(), date_trunc('second', now()) + interval '1 microsecond', 'drafts/' || n
      FROM ${numbers};
      INSERT INTO ${quoted(schema)}.terms (attempt_id, id, scope, temporary_until)
      SELECT ${id}, ${id}, 'user:' || n % 1000, date_trunc('second', now()) + interval '1 hour' FROM ${numbers};
      ANALYZE ${quoted(schema)}.objects, ${quoted(schema)}.terms`)
    await postgresAdapter(pool, { schema }).repairUsage()
  }
})
