import { compareWaiting } from '../servers/compare-waiting.mjs'
import { large, rareRoute } from '../servers/scopes.mjs'
import { compareCounterReads, expectFull, PAGE, PAGE_ROUNDS } from '../servers/store-reads.mjs'

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const COLUMNS = `id, attempt_id, scope, bucket, key, status, route, filename, content_type, size, declared_size, e_tag,
  metadata, storage_key, upload_id, expires_at, created_at, updated_at, confirmed_at, deleted_at`

const newest = (condition) =>
  `SELECT ${COLUMNS} FROM svc_db.objects WHERE scope = $1 AND id < $2 AND ${condition} ORDER BY id DESC LIMIT $3`

/** Compares the adapter's usage and counts with a read of the same row by the bare driver. */
export async function compareCounters(pool, store) {
  const read = {
    name: 'bench_read_usage',
    text: `SELECT bytes, files, reserved_bytes, reserved_files, pending_rows, deleted_rows
           FROM svc_db.scope_usage WHERE scope = $1`,
  }
  return compareCounterReads(store, (scope) => pool.query({ ...read, values: [scope] }))
}

/**
 * Compares pages of the adapter with the same rows read by pg and its parsers. Like the adapter, it reads one more row.
 */
export async function comparePages(pool, store) {
  const live = `(${newest(`status = 'active'`)}) UNION ALL (${newest(`status = 'pending'`)})`
  const results = []
  for (const { name, filter, text, more } of [
    { name: 'active', filter: { status: 'active' }, text: newest('status = $4'), more: ['active'] },
    {
      name: 'pending and active',
      filter: {},
      text: `SELECT * FROM (${live}) o ORDER BY id DESC LIMIT $3`,
      more: [],
    },
    {
      name: 'active of a rare route',
      filter: { status: 'active', route: rareRoute.name },
      text: newest('status = $4 AND route = $5'),
      more: ['active', rareRoute.name],
    },
    {
      name: 'pending and active of a rare route',
      filter: { route: rareRoute.name },
      text: `SELECT * FROM (${live.replaceAll('status =', 'route = $4 AND status =')}) o ORDER BY id DESC LIMIT $3`,
      more: [rareRoute.name],
    },
  ]) {
    const statement = { name: `bench_page_${name}`, text, values: [large, LAST_ID, PAGE + 1, ...more] }
    const query = { ...filter, scope: large, limit: PAGE }
    const { objects } = await expectFull(store, query)
    const { rows } = await pool.query(statement)
    if (rows.length !== PAGE + 1 || objects.some(({ id }, index) => id !== rows[index].id)) {
      throw new Error('The two sides of a page read different rows.')
    }
    results.push(
      await compareWaiting({
        name,
        base: () => pool.query(statement),
        subject: () => store.listByScope(query),
        bar: { most: 1.2 },
        rounds: PAGE_ROUNDS,
      }),
    )
  }
  return results
}
