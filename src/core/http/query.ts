import { invalid } from '../store/validation/invalid.js'

/** The query of a URL, parsed strictly: every parameter at most once, in valid UTF-8. */
export interface Query {
  /**
   * Returns the value of a parameter, or `null` if it is absent. An empty value is `''`.
   * @throws StorageError `VALIDATION_ERROR` if it occurs twice or is not valid percent-encoded UTF-8.
   */
  get(name: string): string | null
}

export function parseQuery(search: string): Query {
  const pairs = search
    .replace(/^\?/, '')
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=')
      return at < 0 ? { name: pair, value: '' } : { name: pair.slice(0, at), value: pair.slice(at + 1) }
    })
  return {
    get(name) {
      const [first, second] = pairs.filter((pair) => decode(pair.name) === name)
      if (!first) return null
      if (second) throw invalid(name, 'must be given only once.')
      const value = decode(first.value)
      if (value === null) throw invalid(name, 'must be valid percent-encoded UTF-8.')
      return value
    },
  }
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}
