import { createAttemptId } from '@svc/db'
import { bucket } from './listed-scope.mjs'

/** Every upload of the benchmark declares these. */
export const FILE = { filename: 'holiday picture.jpg', contentType: 'image/jpeg', size: 1000 }

/** How long an upload URL is valid, as in the library. */
export const URL_SECONDS = 900
const RESERVATION_MILLISECONDS = 4_500_000

/** The key of an upload. The storage key is the same with the attempt id appended. */
export const keyOf = () => `uploads/${createAttemptId()}`

const RESERVE = {
  name: 'bench_http_reserve',
  text: `SELECT svc_db.reserve_v1($1::uuid, $2::text, $3::text, $4::text, $5::bigint, $6::timestamptz, $7::text, $8::text,
      $9::text, $10::json, $11::text, $12::text, $13::boolean, $14::bigint, $15::bigint, $16::timestamptz) AS result`,
}
const FIND = {
  name: 'bench_http_find',
  text: `SELECT attempt_id, scope, bucket, key, status, route, filename, content_type, declared_size, metadata, storage_key,
      expires_at, created_at FROM svc_db.objects o
    WHERE bucket = $1 AND key = $2 AND status <> 'deleted' AND status || '' = 'pending' AND id = $3
      AND scope || '' = $4 AND upload_id IS NULL`,
}
const CONFIRM = {
  name: 'bench_http_confirm',
  text: `SELECT svc_db.confirm_v1($1::text, $2::text, $3::uuid, $4::text, $5::bigint, $6::text, $7::text, $8::bigint,
      $9::timestamptz) AS result`,
}

/** Starts an upload with the library's statement, and builds its response. `signUpload` signs the URL. */
export const uploadByHand =
  (signUpload) =>
  async (pool, owner, { filename, contentType, size }) => {
    const id = createAttemptId()
    const key = keyOf()
    const now = Date.now()
    const createdAt = new Date(now).toISOString()
    const writableUntil = new Date(now + RESERVATION_MILLISECONDS)
    const expiresAt = new Date(now + URL_SECONDS * 1000)
    const storageKey = `${key}~${id}`
    const { rows } = await pool.query({
      ...RESERVE,
      values: [
        ...[id, owner, bucket, key, size, writableUntil.toISOString(), 'default', filename, contentType],
        ...[null, storageKey, null, false, null, null, createdAt],
      ],
    })
    if (JSON.parse(rows[0].result).outcome !== 'reserved') throw new Error('The upload was refused.')
    const signed = await signUpload({ key: storageKey, size, contentType, attemptId: id })
    return {
      object: {
        ...{ id, bucket, key, status: 'pending', createdAt, filename, contentType },
        ...{ declaredSize: size, route: 'default' },
      },
      upload: { ...signed, expiresAt: expiresAt.toISOString() },
    }
  }

/** Confirms an upload with the library's two statements, and builds its response. `head` reads the object's headers. */
export const confirmByHand =
  (head) =>
  async (pool, owner, { key, id }) => {
    const found = await pool.query({ ...FIND, values: [bucket, key, id, owner] })
    const row = found.rows[0]
    const stored = row && (await head({ key: row.storage_key }))
    if (stored?.size !== Number(row?.declared_size) || stored.attemptId !== id)
      throw new Error('Nothing to confirm.')
    const { rows } = await pool.query({
      ...CONFIRM,
      values: [bucket, key, id, owner, stored.size, stored.eTag, null, null, new Date().toISOString()],
    })
    if (JSON.parse(rows[0].result).outcome !== 'confirmed') throw new Error('The confirm was refused.')
    return {
      object: {
        ...{ id, bucket, key, status: 'active', createdAt: row.created_at.toISOString() },
        ...{ filename: row.filename, contentType: row.content_type, size: stored.size, route: row.route },
      },
    }
  }
