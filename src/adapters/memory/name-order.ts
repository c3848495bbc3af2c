import { endOfPrefix, utf8Order } from '../../core/names.js'

/** Returns the sort key before all that have this name, which is the key of what only has a name. Names contain no NUL. */
export function startOfName(name: string): string {
  return `${utf8Order(name)}\0`
}

/** Returns the sort key after all that have this name. */
export function endOfName(name: string): string {
  return `${startOfName(name)}3`
}

interface NameRange {
  readonly prefix: string | null
  readonly after: string | null
}

/** Returns the sort keys between which all names with this prefix are that come after `after`. `null` means no bound. */
export function namesWithin({ prefix, after }: NameRange): { from: string | null; upTo: string | null } {
  const afterName = after === null ? null : endOfName(after)
  if (prefix === null) return { from: afterName, upTo: null }
  const start = utf8Order(prefix)
  return {
    from: afterName === null || start > afterName ? start : afterName,
    upTo: utf8Order(endOfPrefix(prefix)),
  }
}
