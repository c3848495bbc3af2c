import { invalid } from '../store/validation/checks.js'

/** Far more than the longest valid parameters need. The query of a `Request` is percent-encoded, so a character is a byte. */
export const MAX_QUERY_BYTES = 8192

/** The query of a URL, parsed strictly: every parameter at most once, in valid UTF-8. */
export interface Query {
  /** @throws StorageError `VALIDATION_ERROR` (`query`) if the query is too long. */
  checkLength(): void
  /**
   * Returns the value of a parameter with a name in ASCII, or `null` if it is absent. An empty value is `''`.
   * @throws StorageError `VALIDATION_ERROR` if the query is too long, or if the parameter occurs twice or is not valid
   * percent-encoded UTF-8.
   */
  get(name: string): string | null
}

/** Other parameters cost no more than their length: they are skipped without being decoded. */
export function parseQuery(search: string): Query {
  const query = search.startsWith('?') ? search.slice(1) : search
  let ends: readonly number[] | undefined

  function checkLength(): void {
    if (query.length <= MAX_QUERY_BYTES) return
    throw invalid('query', `must be at most ${MAX_QUERY_BYTES} bytes (got ${query.length}).`)
  }

  return {
    checkLength,
    get(name) {
      checkLength()
      const [first, second] = valuesOf(query, (ends ??= endsOfPairs(query)), name)
      if (first === undefined) return null
      if (second !== undefined) throw invalid(name, 'must be given only once.')
      const value = decode(first)
      if (value === null) throw invalid(name, 'must be valid percent-encoded UTF-8.')
      return value
    },
  }
}

const PERCENT = '%'.charCodeAt(0)

const AMPERSAND = '&'.charCodeAt(0)

/** Returns where each pair ends. */
function endsOfPairs(query: string): readonly number[] {
  const ends: number[] = []
  for (let at = 0; at < query.length; at++) {
    if (query.charCodeAt(at) === AMPERSAND) ends.push(at)
  }
  ends.push(query.length)
  return ends
}

/** Returns the encoded values of a parameter. Stops at the second one. */
function valuesOf(query: string, ends: readonly number[], name: string): readonly string[] {
  const values: string[] = []
  let start = 0
  for (const end of ends) {
    if (end > start && end - start >= name.length) {
      const nameEnd = endOfName(query, start, end, name)
      if (nameEnd !== null) values.push(query.slice(nameEnd + 1, end))
      if (values.length === 2) break
    }
    start = end + 1
  }
  return values
}

/**
 * Returns where the name of the pair from `start` to `end` ends, if it is `name`. Decodes it while comparing, because decoding
 * every name would take much longer, above all those that can't be decoded.
 */
function endOfName(query: string, start: number, end: number, name: string): number | null {
  let at = start
  for (let index = 0; index < name.length; index++) {
    const isEncoded = query.charCodeAt(at) === PERCENT
    const code = isEncoded
      ? 16 * hexDigit(query.charCodeAt(at + 1)) + hexDigit(query.charCodeAt(at + 2))
      : query.charCodeAt(at)
    if (code !== name.charCodeAt(index)) return null
    at += isEncoded ? 3 : 1
  }
  return at === end || (at < end && query[at] === '=') ? at : null
}

/** Returns the value of a hexadecimal digit with this character code, or `NaN`. */
function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = code | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : NaN
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(withSpaces(text))
  } catch {
    return null
  }
}

const PLUS = '+'.charCodeAt(0)

const SPACE = ' '.charCodeAt(0)

/** Replaces every plus with a space. For thousands of them, `replaceAll` takes ten times as long. */
function withSpaces(text: string): string {
  if (!text.includes('+')) return text
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === PLUS) bytes[at] = SPACE
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}
