import { invalid, shown } from './store/validation/checks.js'

/** Returns whether URLs resolve this segment of a path instead of containing it. */
export function isDotSegment(segment: string): boolean {
  return segment === '.' || segment === '..'
}

/** @throws StorageError `VALIDATION_ERROR` (`key`) for a key of bytes that no URL can contain. */
export function refuseDotSegments(key: string): void {
  if (!key.split('/').some(isDotSegment)) return
  throw invalid(
    'key',
    `must not have a "." or ".." segment (got ${shown(key)}). ` +
      'Such keys get no URL, because browsers would request another path.',
  )
}
