import { compareBytes, endOfPrefix } from '../../../core/names.js'

/** A range of names. It has a lower bound. */
export type NameRange = Readonly<Partial<Record<'$gt' | '$gte' | '$lt' | '$lte', string>>>

interface RequestedNames {
  readonly prefix: string | null
  readonly after: string | null
}

/** Returns the range of the names with this prefix that come after `after`. `first` is the lowest name of all. */
export function rangeOfNames({ prefix, after }: RequestedNames, first = ''): NameRange {
  const lowest = prefix ?? first
  return {
    ...(after !== null && compareBytes(after, lowest) >= 0 ? { $gt: after } : { $gte: lowest }),
    ...(prefix !== null && { $lt: endOfPrefix(prefix) }),
  }
}
