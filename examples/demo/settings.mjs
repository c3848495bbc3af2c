import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Reads the settings that are plain values. All are optional:
 *   PORT                    default: the first free one from 3000; 0: any free port
 *   DATA_DIR                folder for records and bytes, unless the following settings name other stores
 *   DATABASE_URL            a PostgreSQL server for the records, or a file, as in sqlite:./data.db
 *   MONGODB_URL             or a MongoDB replica set for the records
 *   S3_ENDPOINT, S3_BUCKET  a bucket for the bytes; credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, region in
 *                           AWS_REGION (default us-east-1)
 *   QUOTA_BYTES             how many bytes each person may store (default 25000000)
 * @throws Error that names the variable, its value and what is allowed.
 */
export function readSettings({ PORT, QUOTA_BYTES, DATA_DIR }) {
  return {
    host: '127.0.0.1',
    port: PORT ? integer('PORT', PORT, 0, 65_535) : null,
    quota: {
      maxBytes: QUOTA_BYTES ? integer('QUOTA_BYTES', QUOTA_BYTES, 1, Number.MAX_SAFE_INTEGER) : 25_000_000,
      maxFiles: 40,
    },
    folder: resolve(DATA_DIR || fileURLToPath(new URL('data', import.meta.url))),
  }
}

function integer(name, text, min, max) {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new Error(`${name} must be an integer from ${min} to ${max} (got ${text}).`)
}
