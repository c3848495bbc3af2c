import type { MetadataRefusal } from '../outcomes.js'
import type { MetadataChanges, ObjectMetadata } from '../records.js'
import { bytesOf, MAX_METADATA_BYTES, MAX_METADATA_ENTRIES } from '../validation/metadata.js'

/** Sets and removes single names. Names that are there keep their place, and new ones follow. Returns `null` if none is left. */
export function mergeMetadata(
  before: ObjectMetadata | null,
  changes: MetadataChanges,
): ObjectMetadata | null {
  // Not an object, whose `__proto__` would be no name.
  const merged = new Map(Object.entries(before ?? {}))
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) merged.delete(name)
    else merged.set(name, value)
  }
  return merged.size === 0 ? null : Object.fromEntries(merged)
}

/** Refuses metadata that exceeds a limit, which changes that are within it can leave. */
export function refuseExcess(metadata: ObjectMetadata | null): MetadataRefusal | null {
  const entries = Object.entries(metadata ?? {})
  if (entries.length > MAX_METADATA_ENTRIES) return { outcome: 'metadata-entries', got: entries.length }
  const bytes = entries.reduce((sum, [name, text]) => sum + bytesOf(name, text), 0)
  return bytes > MAX_METADATA_BYTES ? { outcome: 'metadata-bytes', got: bytes } : null
}

/** Compares names and values, in any order. */
export function sameMetadata(a: ObjectMetadata | null, b: ObjectMetadata | null): boolean {
  if (a === null || b === null) return a === b
  const entries = Object.entries(a)
  if (entries.length !== Object.keys(b).length) return false
  return entries.every(([name, value]) => Object.hasOwn(b, name) && b[name] === value)
}
