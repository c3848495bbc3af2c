import type { ObjectMetadata } from '../records.js'
import { utf8Length } from '../../bytes.js'
import { invalid, shown, textFlaw } from './checks.js'

export const MAX_METADATA_ENTRIES = 64
export const MAX_METADATA_BYTES = 16 * 1024

/** Returns a checked copy of metadata, in which `__proto__` is an ordinary name. */
export function checkMetadata(value: unknown): ObjectMetadata {
  if (Object.prototype.toString.call(value) !== '[object Object]') {
    throw invalid('metadata', `must be an object of strings (got ${shown(value)}).`)
  }
  const entries = Object.entries(value as Record<string, unknown>)
  if (entries.length > MAX_METADATA_ENTRIES) {
    throw invalid('metadata', `must have at most ${MAX_METADATA_ENTRIES} entries (got ${entries.length}).`)
  }
  let bytes = 0
  const copy: [string, string][] = []
  for (const [name, text] of entries) {
    if (typeof text !== 'string') {
      throw invalid('metadata', `must have strings as values (got ${shown(text)} for ${shown(name)}).`)
    }
    const flaw = textFlaw(name) ?? textFlaw(text)
    if (flaw) throw invalid('metadata', `${flaw} (entry ${shown(name)}).`)
    bytes += utf8Length(name) + utf8Length(text)
    copy.push([name, text])
  }
  if (bytes > MAX_METADATA_BYTES) {
    throw invalid('metadata', `must be at most ${MAX_METADATA_BYTES} bytes of UTF-8 in total (got ${bytes}).`)
  }
  return Object.fromEntries(copy)
}
