import { randomBytes } from 'node:crypto'
import { compareWaiting } from '../servers/compare-waiting.mjs'

const ROWS = 3000
const PAGE = 1000
const ROUNDS = 101
const [PLAIN, DESCRIBED] = ['bench-plain', 'bench-described']
/** Postgres can't compress it. */
const METADATA = JSON.stringify({ description: randomBytes(12_000).toString('base64') })

/** Compares lists by storage key that leave out metadata: of objects with 16 kB of it each, and of objects without. */
export async function compareStoredMetadata(pool, store) {
  for (const [bucket, metadata] of [
    [PLAIN, null],
    [DESCRIBED, METADATA],
  ]) {
    await pool.query(
      `INSERT INTO svc_db.objects (id, attempt_id, scope, bucket, key, status, filename, content_type, size, metadata,
         storage_key, created_at, updated_at, confirmed_at, writable_until)
       SELECT id, id, $1, $1, 'uploads/' || g, 'active', 'holiday picture.jpg', 'image/jpeg', 1, $2::json, 'uploads/' || g,
         now(), now(), now(), now()
       FROM (SELECT g, gen_random_uuid() AS id FROM generate_series(1, ${ROWS}) g) made`,
      [bucket, metadata],
    )
    await store.repairUsage(bucket)
  }
  const list = (bucket) => () => store.listStored({ bucket, limit: PAGE, withMetadata: false })
  const result = await compareWaiting({
    name: `listStored of ${PAGE}, withMetadata: false`,
    base: list(PLAIN),
    subject: list(DESCRIBED),
    bar: { most: 1.2 },
    rounds: ROUNDS,
  })
  await pool.query('DELETE FROM svc_db.objects WHERE bucket = ANY ($1)', [[PLAIN, DESCRIBED]])
  for (const bucket of [PLAIN, DESCRIBED]) await store.repairUsage(bucket)
  return [result]
}
