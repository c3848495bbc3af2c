import { createAttemptId } from '@svc/db'
import { postgresAdapter } from './adapter.mjs'
import { compareWaiting } from '../servers/compare-waiting.mjs'
import { bucket } from '../servers/scopes.mjs'
import { ample, reserve, SIZE, upload } from '../servers/store-calls.mjs'

/** Of one caller; those of many take longer each. */
const ROUNDS = 301
const ROUNDS_OF_MANY = 81

/**
 * reserve + confirm beside the least that stores the same row: one INSERT and one UPDATE, which know no quota, no owner
 * and no sums, into tables with the same indexes. Each caller has a scope of its own.
 */
export async function compareUploads(pools, bareSchema) {
  const results = []
  for (const { pool, connections, least } of pools) {
    const store = postgresAdapter(pool)
    results.push(
      await compareWaiting({
        name: connections === 1 ? '1 connection' : `${connections} connections`,
        base: (caller) => bareUpload(pool, bareSchema, `user:caller-${caller}`),
        subject: (caller) => upload(store, `user:caller-${caller}`),
        bar: { least },
        callers: connections,
        rounds: connections === 1 ? ROUNDS : ROUNDS_OF_MANY,
      }),
    )
  }
  return results
}

async function bareUpload(pool, schema, scope) {
  const id = createAttemptId()
  const key = `uploads/${id}`
  const now = new Date()
  const expiresAt = new Date(now.getTime() + 3_600_000)
  await pool.query({
    name: 'bench_bare_insert',
    text: `INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, route, filename, content_type,
             declared_size, storage_key, expires_at, created_at, updated_at, writable_until)
           VALUES ($1, $1, $2, $3, $4, 'pending', 'common', 'holiday picture.jpg', 'image/jpeg', $5, $4, $6, $7, $7, $6)
           RETURNING *`,
    values: [id, scope, bucket, key, SIZE, expiresAt, now],
  })
  await pool.query({
    name: 'bench_bare_update',
    text: `UPDATE ${schema}.objects SET status = 'active', size = $2, e_tag = 'e', declared_size = NULL,
             expires_at = NULL, updated_at = $3, confirmed_at = $3
           WHERE attempt_id = $1 RETURNING *`,
    values: [id, SIZE, now],
  })
}

/** A reserve that the quota refuses beside one that it doesn't. */
export async function compareRefusals(pool) {
  const store = postgresAdapter(pool)
  const full = 'user:full'
  await upload(store, full)
  const nothingLeft = { maxBytes: SIZE }
  return [
    await compareWaiting({
      name: 'refused by the quota',
      base: () => reserve(store, 'user:with room', ample),
      subject: async () => {
        const error = await reserve(store, full, nothingLeft).catch((reason) => reason)
        if (error.code !== 'QUOTA_EXCEEDED') throw error
      },
      bar: { most: 0.5 },
      rounds: ROUNDS,
    }),
  ]
}

/**
 * Uploads of 32 callers into one scope, through one store and so in one lane, beside the same callers with a store each:
 * none of them has two calls at once, so none shares a round trip, as if they were so many processes.
 */
export async function compareHotScope(pool, callers) {
  const scope = 'user:hot'
  const shared = postgresAdapter(pool)
  const own = Array.from({ length: callers }, () => postgresAdapter(pool))
  return [
    await compareWaiting({
      name: `reserve + confirm, ${callers} callers of one scope`,
      base: (caller) => upload(own[caller], scope),
      subject: () => upload(shared, scope),
      bar: { least: 5 },
      callers,
      rounds: ROUNDS_OF_MANY,
    }),
  ]
}
