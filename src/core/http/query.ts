import { StorageError } from '../errors.js'

/** The query of a URL, read strictly: each known parameter at most once, and nothing that isn't UTF-8. */
export interface Query {
  /**
   * The value, or `null` where the parameter is absent; an empty value is `''`.
   * @throws StorageError `VALIDATION_ERROR` if it is given twice or its percent-encoding is no UTF-8.
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
      if (second) throw invalid(name, `"${name}" must be given once.`)
      const value = decode(first.value)
      if (value === null) throw invalid(name, `"${name}" is not valid percent-encoded UTF-8.`)
      return value
    },
  }
}

function invalid(field: string, message: string): StorageError {
  return new StorageError('VALIDATION_ERROR', { message, params: { field } })
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}
