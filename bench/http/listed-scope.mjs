export const scope = 'user:ann'
/** An owner of objects with as much metadata as an object can have. */
export const scopeWithMetadata = 'user:meta'
export const bucket = 'bench'
/** The default page size of the endpoint. */
export const PAGE = 50

/** Loads one page of files of each owner, among files of others. */
export async function loadObjects(store) {
  const metadata = { notes: '0123456789abcdef'.repeat(1023), more: 'x' }
  for (const owner of ['user:bob', scope, scopeWithMetadata, 'user:eve']) {
    for (let number = 0; number < PAGE; number++) {
      const key = `${owner}/holiday-${number}.jpg`
      const file = { filename: `holiday ${number}.jpg`, contentType: 'image/jpeg', route: 'photos' }
      const expiresAt = new Date(Date.now() + 60_000)
      const upload = {
        scope: owner,
        bucket,
        key,
        ...file,
        declaredSize: 1000 + number,
        expiresAt,
        ...(owner === scopeWithMetadata && { metadata }),
      }
      const { id } = await store.reserve(upload)
      await store.confirm({ bucket, key, id, size: 1000 + number })
    }
  }
}

const COLUMNS = `id, attempt_id, scope, bucket, key, status, route, filename, content_type, size, declared_size, e_tag,
  NULL::json AS metadata, storage_key, upload_id, expires_at, created_at, updated_at, confirmed_at, deleted_at`
const STATEMENT = {
  name: 'bench_http_list',
  text: `SELECT ${COLUMNS} FROM svc_db.objects WHERE scope = $1 AND id < $2 AND status = $4 ORDER BY id DESC LIMIT $3`,
}
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Builds the response body of the library by hand, from the same statement. */
export async function listByHand(pool, owner) {
  const { rows } = await pool.query({ ...STATEMENT, values: [owner, LAST_ID, PAGE + 1, 'active'] })
  return {
    objects: rows.map((row) => ({
      id: row.attempt_id,
      bucket: row.bucket,
      key: row.key,
      status: row.status,
      createdAt: row.created_at.toISOString(),
      filename: row.filename,
      contentType: row.content_type,
      size: Number(row.size),
      route: row.route,
    })),
  }
}
