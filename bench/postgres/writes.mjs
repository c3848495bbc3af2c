import { createAttemptId } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { compareChanges } from '../servers/compare-changes.mjs'
import { compareWaiting, medianTime } from '../servers/compare-waiting.mjs'
import { bucket } from '../servers/scopes.mjs'
import { ample, reserve, SIZE, upload } from '../servers/store-calls.mjs'

const ROUNDS = 301
/** Rounds with many callers take longer. */
const ROUNDS_OF_MANY = 81

/**
 * Measures in milliseconds what every ratio of writes depends on: a round trip, near and far, and a commit of one row.
 */
export async function measureLatencies(near, far) {
  await near.query('CREATE TABLE IF NOT EXISTS public.commits (at timestamptz)')
  const select = (pool) => () => pool.query({ name: 'bench_nothing', text: 'SELECT 1' })
  const insert = () => near.query({ name: 'bench_commit', text: 'INSERT INTO public.commits VALUES (now())' })
  return {
    roundTrip: await medianTime(select(near)),
    farRoundTrip: await medianTime(select(far)),
    commit: await medianTime(insert),
  }
}

/**
 * Compares reserve + confirm with the minimum that stores the same row: one INSERT and one UPDATE, without quota, owner
 * and sums, into tables with the same indexes. Each caller has its own scope.
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

/** Stores the row of an upload with the bare driver: one INSERT and one UPDATE. */
export async function bareUpload(pool, schema, scope) {
  const id = createAttemptId()
  const key = `uploads/${id}`
  const now = new Date()
  const expiresAt = new Date(now.getTime() + 3_600_000)
  await pool.query({
    name: `bench_bare_insert ${schema}`,
    text: `INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, route, filename, content_type,
             declared_size, storage_key, expires_at, created_at, updated_at, writable_until)
           VALUES ($1, $1, $2, $3, $4, 'pending', 'common', 'holiday picture.jpg', 'image/jpeg', $5, $4, $6, $7, $7, $6)
           RETURNING *`,
    values: [id, scope, bucket, key, SIZE, expiresAt, now],
  })
  await pool.query({
    name: `bench_bare_update ${schema}`,
    text: `UPDATE ${schema}.objects SET status = 'active', size = $2, e_tag = 'e', declared_size = NULL,
             expires_at = NULL, updated_at = $3, confirmed_at = $3
           WHERE attempt_id = $1 RETURNING *`,
    values: [id, SIZE, now],
  })
}

/** Compares a reserve that the quota refuses with one that it accepts. The slower commits are, the less a refusal costs beside it. */
export async function compareRefusals(pool, bar) {
  const store = postgresAdapter(pool)
  const full = 'user:full'
  await upload(store, full)
  const fullQuota = { maxBytes: SIZE }
  return [
    await compareWaiting({
      name: 'refused by the quota',
      base: () => reserve(store, 'user:below quota', ample),
      subject: async () => {
        const error = await reserve(store, full, fullQuota).catch((reason) => reason)
        if (error.code !== 'QUOTA_EXCEEDED') throw error
      },
      bar,
      rounds: ROUNDS,
    }),
  ]
}

/**
 * Compares uploads of many callers into one scope, batched by one store, with one store per caller. Each of those
 * stores has one call at a time and so never batches, like separate processes.
 */
export async function compareHotScope(pool, { callers, least: leastOfMany }) {
  const scope = 'user:hot'
  const shared = postgresAdapter(pool)
  const own = Array.from({ length: callers }, () => postgresAdapter(pool))
  // Two callers wait for nobody, so batching must cost them nothing. With more, the gain depends on how long commits take.
  const results = []
  for (const [some, least] of [
    [2, 0.95],
    [callers, leastOfMany],
  ]) {
    results.push(
      await compareWaiting({
        name: `reserve + confirm, ${some} callers of one scope`,
        base: (caller) => upload(own[caller], scope),
        subject: () => upload(shared, scope),
        bar: { least },
        callers: some,
        rounds: ROUNDS_OF_MANY,
      }),
    )
  }
  return results
}

/** Compares changes of an object with the release of a reservation. */
export async function compareObjectChanges(single, many) {
  const [alone, together] = [single, many].map((pool) => postgresAdapter(pool))
  return [
    ...(await compareChanges({ store: alone, callers: 1, most: 1.25, rounds: ROUNDS })),
    ...(await compareChanges({ store: together, callers: 8, most: null, rounds: ROUNDS_OF_MANY })),
  ]
}
