import type { ByteRange } from '../../core/object-storage.js'
import { ALL_BYTES, type FoundObject, type Selection } from './contract.js'

/** What a response contains of an object, and the headers that say so. */
export interface Answer extends Selection {
  readonly status: 200 | 206 | 304 | 416
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Decides what a request gets of an object, by its `If-None-Match`, `If-Range` and `Range` (RFC 9110, sections 13 and 14). More than
 * one range, and a range that is not valid, gets the whole object.
 */
export function answerTo(request: Headers, object: FoundObject): Answer {
  const { size, eTag } = object
  const lastModified = object.lastModified.toUTCString()
  const headers = { 'accept-ranges': 'bytes', etag: eTag, 'last-modified': lastModified }
  if (isListed(eTag, request.get('if-none-match'))) return { status: 304, headers, range: null }

  const ifRange = request.get('if-range') ?? eTag
  const isCurrent = ifRange === eTag || ifRange === lastModified
  const range = isCurrent ? rangeOf(request.get('range') ?? '', size) : ALL_BYTES
  if (range === ALL_BYTES) return { status: 200, headers: { ...headers, 'content-length': `${size}` }, range }
  if (range === null) {
    const none = { 'content-range': `bytes */${size}`, 'content-length': '0' }
    return { status: 416, headers: { ...headers, ...none }, range }
  }
  const { start, end } = range
  const part = { 'content-range': `bytes ${start}-${end}/${size}`, 'content-length': `${end - start + 1}` }
  return { status: 206, headers: { ...headers, ...part }, range }
}

/** Compares weakly, as the header demands: a compressing proxy in front may have made the tag weak. */
function isListed(eTag: string, tags: string | null): boolean {
  if (tags === null) return false
  return tags.trim() === '*' || tags.split(',').some((tag) => tag.trim().replace(/^W\//, '') === eTag)
}

/** Returns the range of a `Range` header, `ALL_BYTES` if it isn't a single valid one, and `null` if the object has none of its bytes. */
function rangeOf(header: string, size: number): ByteRange | null {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/i.exec(header) ?? []
  if (!first && !last) return ALL_BYTES
  if (!first) return lastBytes(Number(last), size)
  const start = Number(first)
  const end = last ? Number(last) : Infinity
  if (end < start) return ALL_BYTES
  return start < size ? { start, end: Math.min(end, size - 1) } : null
}

function lastBytes(count: number, size: number): ByteRange | null {
  if (count === 0) return null
  // A range can't be empty.
  return size === 0 ? ALL_BYTES : { start: Math.max(size - count, 0), end: size - 1 }
}
