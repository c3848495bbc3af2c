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
  if (range === null) {
    const unsatisfied = { 'content-range': `bytes */${size}`, 'content-length': '0' }
    return { status: 416, headers: { ...headers, ...unsatisfied }, range }
  }
  const { start, end } = range
  if (end === Infinity) return { status: 200, headers: { ...headers, 'content-length': String(size) }, range }
  const part = {
    'content-range': `bytes ${start}-${end}/${size}`,
    'content-length': String(end - start + 1),
  }
  return { status: 206, headers: { ...headers, ...part }, range }
}

/** Compares weakly, as the header demands: a compressing proxy in front may have made the tag weak. */
function isListed(eTag: string, tags: string | null): boolean {
  if (tags === null) return false
  return tags.trim() === '*' || tags.split(',').some((tag) => tag.trim().replace(/^W\//, '') === eTag)
}

/** Returns the range of a `Range` header, all bytes if it isn't a single valid one, and `null` if the object has none of its bytes. */
function rangeOf(header: string, size: number): ByteRange | null {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/i.exec(header) ?? []
  if (first === undefined || last === undefined || first + last === '') return ALL_BYTES
  if (first === '') {
    const length = Math.min(Number(last), size)
    if (length > 0) return { start: size - length, end: size - 1 }
    // No range is empty, so the last bytes of an empty object are all of it.
    return Number(last) > 0 ? ALL_BYTES : null
  }
  const start = Number(first)
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < start) return ALL_BYTES
  return start < size ? { start, end } : null
}
