import { postgresAdapter } from '@svc/db/postgres'
import { HOT, OTHER } from '../servers/calls-beside.mjs'
import { bucket } from '../servers/scopes.mjs'
import { ample, reserve } from '../servers/store-calls.mjs'

const CLAIMED = 1000

/** Makes as many uploads of one scope, delivers their events, purges as much history and forgets as many leftovers. Analyzes. */
export async function createUsedStore(pool, store, rows) {
  // Events were delivered a while ago: calls always look at the last minute.
  const earlier = postgresAdapter(pool, { now: () => new Date(Date.now() - 600_000) })
  for (const table of ['objects', 'scope_usage', 'leftovers', 'terms', 'rejections', 'events']) {
    await pool.query(`ALTER TABLE svc_db.${table} SET (autovacuum_enabled = off)`)
  }
  await upload(pool, rows)
  await deliver(earlier, rows)
  await purge(pool, store, rows)
  await forget(pool, rows)
  await end(pool, rows)
  await count(pool, rows)
  await pool.query('ANALYZE')
  await pool.query('CHECKPOINT')
  // One object that nothing happens to, an upload in progress and an event that is due later.
  await reserve(store, HOT, ample)
}

/** Each upload is an INSERT and an UPDATE of its row, as the functions of the schema make them. */
async function upload(pool, rows) {
  await pool.query(`
    INSERT INTO svc_db.objects (id, attempt_id, scope, bucket, key, status, route, filename, content_type, declared_size,
      storage_key, expires_at, created_at, updated_at, writable_until)
    SELECT id, id, '${HOT}', '${bucket}', 'uploads/' || g, 'pending', 'common', 'holiday picture.jpg', 'image/jpeg', 1,
      'uploads/' || g, at + interval '1 hour', at, at, at + interval '1 hour'
    FROM (
      SELECT g, at, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008000' || lpad(to_hex(g), 12, '0'))::uuid AS id
      FROM generate_series(1, ${rows}) g, LATERAL (SELECT now() - interval '2 days' + g * interval '1 second' AS at) t
    ) made`)
  await pool.query(`
    UPDATE svc_db.objects SET status = 'active', size = 1, e_tag = 'e', declared_size = NULL, expires_at = NULL,
      updated_at = created_at, confirmed_at = created_at`)
}

/** Delivers all events, every second of them after a retry. */
async function deliver(store, rows) {
  const again = []
  for (let left = rows; left > 0;) {
    const claimed = await store.claimEvents({ limit: CLAIMED, attempted: false })
    if (claimed.length === 0) throw new Error(`${left} events are missing.`)
    left -= claimed.length
    const retryAt = new Date(Date.now() - 600_000)
    const settled = claimed.map(({ id, claim }, index) => ({
      id,
      claim,
      ...(index % 2 === 0 && { retryAt }),
    }))
    await store.settleEvents(settled)
    again.push(...settled.filter((entry) => 'retryAt' in entry))
  }
  for (let left = again.length; left > 0;) {
    const claimed = await store.claimEvents({ limit: CLAIMED, attempted: true })
    left -= claimed.length
    await store.settleEvents(claimed)
  }
}

async function purge(pool, store, rows) {
  await pool.query(`
    INSERT INTO svc_db.objects (id, attempt_id, scope, bucket, key, status, filename, content_type, size, storage_key,
      created_at, updated_at, confirmed_at, deleted_at, writable_until)
    SELECT id, id, '${HOT}', '${bucket}', 'deleted/' || g, 'deleted', 'holiday picture.jpg', 'image/jpeg', 1,
      'deleted/' || g, at, at, at, at, at
    FROM (
      SELECT g, at, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70009000' || lpad(to_hex(g), 12, '0'))::uuid AS id
      FROM generate_series(1, ${rows}) g, LATERAL (SELECT now() - interval '90 days' + g * interval '1 second' AS at) t
    ) made`)
  await pool.query(`DELETE FROM svc_db.objects WHERE status = 'deleted'`)
}

/** Each leftover is put off once, and then forgotten. */
async function forget(pool, rows) {
  await pool.query(`
    INSERT INTO svc_db.leftovers (attempt_id, scope, bucket, key, storage_key, since, writable_until)
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000a000' || lpad(to_hex(g), 12, '0'))::uuid,
      '${HOT}', '${bucket}', 'uploads/' || g, 'uploads/' || g || '~gone', at, at
    FROM generate_series(1, ${rows}) g, LATERAL (SELECT now() - interval '30 days' + g * interval '1 second' AS at) t`)
  await pool.query(`UPDATE svc_db.leftovers SET due_at = since + interval '1 day'`)
  await pool.query('DELETE FROM svc_db.leftovers')
}

/** Keeps as many temporary objects, accepts as many checked uploads and forgets as many rejections. */
async function end(pool, rows) {
  const made = `SELECT gen_random_uuid() AS id, at
    FROM generate_series(1, ${rows}) g, LATERAL (SELECT now() - interval '90 days' + g * interval '1 second' AS at) t`
  for (const end of ['temporary_until', 'check_until']) {
    await pool.query(
      `INSERT INTO svc_db.terms (attempt_id, id, scope, ${end}) SELECT id, id, '${HOT}', at FROM (${made}) made`,
    )
  }
  await pool.query('DELETE FROM svc_db.terms')
  await pool.query(`
    INSERT INTO svc_db.rejections (attempt_id, scope, bucket, key, rejected_at)
    SELECT id, '${HOT}', '${bucket}', id::text, at FROM (${made}) made`)
  await pool.query('DELETE FROM svc_db.rejections')
}

/** Changes the sums of the scope as often as batches of eight uploads do. */
async function count(pool, rows) {
  await pool.query(`
    INSERT INTO svc_db.scope_usage (scope, bytes, files) VALUES ('${HOT}', ${rows}, 0), ('${OTHER}', 0, 0)
    ON CONFLICT (scope) DO UPDATE SET bytes = excluded.bytes`)
  await pool.query(`DO $$ BEGIN FOR i IN 1..${Math.floor(rows / 4)} LOOP
    UPDATE svc_db.scope_usage SET files = files + 4 WHERE scope = '${HOT}'; COMMIT; END LOOP; END $$`)
}
