import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Reads the settings that are plain values. @throws Error that names the variable, its value and what is allowed. */
export function readSettings({ PORT, QUOTA_BYTES, DATA_DIR }) {
  return {
    /** `null`: the demo chooses. */
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
