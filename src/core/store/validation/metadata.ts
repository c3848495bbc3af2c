import type { MetadataChanges, ObjectMetadata } from '../records.js'
import { utf8Length } from '../../bytes.js'
import { invalid, shown, textFlaw } from './checks.js'

export const MAX_METADATA_ENTRIES = 64
export const MAX_METADATA_BYTES = 16 * 1024

/** Returns a checked copy of metadata, in which `__proto__` is an ordinary name. */
export function checkMetadata(value: unknown): ObjectMetadata {
  return checkEntries('metadata', value, false) as ObjectMetadata
}

/** Returns a checked copy of changes, in which `__proto__` is an ordinary name. The limits hold for what they set. */
export function checkMetadataChanges(field: string, value: unknown): MetadataChanges {
  return checkEntries(field, value, true)
}

function checkEntries(field: string, value: unknown, mayRemove: boolean): MetadataChanges {
  const values = mayRemove ? 'strings or null' : 'strings'
  if (Object.prototype.toString.call(value) !== '[object Object]') {
    throw invalid(field, `must be an object of ${values} (got ${shown(value)}).`)
  }
  const entries = Object.entries(value as Record<string, unknown>)
  const removed = mayRemove ? entries.filter(([, text]) => text === null).length : 0
  const count = entries.length - removed
  if (count > MAX_METADATA_ENTRIES) {
    throw invalid(field, `must have at most ${MAX_METADATA_ENTRIES} entries (got ${count}).`)
  }
  let bytes = 0
  const copy: [string, string | null][] = []
  for (const [name, text] of entries) {
    const isRemoved = mayRemove && text === null
    if (!isRemoved && typeof text !== 'string') {
      throw invalid(field, `must have ${values} as values (got ${shown(text)} for ${shown(name)}).`)
    }
    const flaw = textFlaw(name) ?? (isRemoved ? null : textFlaw(text as string))
    if (flaw) throw invalid(field, `${flaw} (entry ${shown(name)}).`)
    if (!isRemoved) bytes += bytesOf(name, text as string)
    copy.push([name, text])
  }
  if (bytes > MAX_METADATA_BYTES) {
    throw invalid(field, `must be at most ${MAX_METADATA_BYTES} bytes of UTF-8 in total (got ${bytes}).`)
  }
  return Object.fromEntries(copy)
}

export function bytesOf(name: string, text: string): number {
  return utf8Length(name) + utf8Length(text)
}
