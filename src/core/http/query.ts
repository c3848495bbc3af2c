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

export function parseQuery(search: string): Query {
  const query = search.startsWith('?') ? search.slice(1) : search
  let pairs: readonly ReturnType<typeof pairOf>[] | undefined

  function checkLength(): void {
    if (query.length <= MAX_QUERY_BYTES) return
    throw invalid('query', `must be at most ${MAX_QUERY_BYTES} bytes (got ${query.length}).`)
  }

  return {
    checkLength,
    get(name) {
      checkLength()
      pairs ??= query.split('&').filter(Boolean).map(pairOf)
      const [first, second] = pairs.filter((pair) => pair.name === name)
      if (!first) return null
      if (second) throw invalid(name, 'must be given only once.')
      try {
        return decodeURIComponent(first.value.replaceAll('+', ' '))
      } catch {
        throw invalid(name, 'must be valid percent-encoded UTF-8.')
      }
    },
  }
}

const ESCAPE = /%[0-9a-f]{2}/gi

/** Splits a parameter. Decodes only the name, byte by byte, which is enough for names in ASCII, and can't fail. */
function pairOf(text: string) {
  const end = text.indexOf('=')
  const sent = end < 0 ? text : text.slice(0, end)
  const byteOf = (escape: string) => String.fromCharCode(parseInt(escape.slice(1), 16))
  return {
    name: sent.includes('%') ? sent.replace(ESCAPE, byteOf) : sent,
    value: text.slice(sent.length + 1),
  }
}
