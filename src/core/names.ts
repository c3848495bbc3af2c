import type { ObjectReference } from './store/records.js'
import { TEXT_LIMITS } from './store/validation/checks.js'

/** Returns the id of a key, which is unique among the keys of all buckets. Buckets and keys contain no NUL. */
export function keyId({ bucket, key }: ObjectReference): string {
  return `${bucket}\0${key}`
}

export function referenceOf(id: string): ObjectReference {
  const end = id.indexOf('\0')
  return { bucket: id.slice(0, end), key: id.slice(end + 1) }
}

/** Where S3 and databases, which sort by bytes of UTF-8, differ from JavaScript and its code units: surrogates belong last. */
const OUT_OF_ORDER = /[\ud800-\uffff]/

function rankOf(unit: number): number {
  return unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/** Returns a sort key, which compares by code units as its text does by bytes of UTF-8. It starts with that of each prefix. */
export function utf8Order(text: string): string {
  if (!OUT_OF_ORDER.test(text)) return text
  let sorted = ''
  for (let i = 0; i < text.length; i++) sorted += String.fromCharCode(rankOf(text.charCodeAt(i)))
  return sorted
}

/** Compares two well-formed texts by their bytes of UTF-8. Faster than comparing sort keys that are used once. */
export function compareBytes(one: string, other: string): number {
  const shared = Math.min(one.length, other.length)
  for (let i = 0; i < shared; i++) {
    const difference = rankOf(one.charCodeAt(i)) - rankOf(other.charCodeAt(i))
    if (difference !== 0) return difference
  }
  return one.length - other.length
}

const HIGHEST = '\u{10ffff}'

/** Returns the exclusive end of the names that start with a prefix, in the order of bytes. */
export function endOfPrefix(prefix: string): string {
  const characters = [...prefix]
  while (characters.at(-1) === HIGHEST) characters.pop()
  const last = characters.pop()?.codePointAt(0)
  // Nothing but the highest character, which has 4 bytes. Repeated more often than a name has room for, it ends all names.
  if (last === undefined) return HIGHEST.repeat(TEXT_LIMITS.storageKey.max / 4 + 1)
  return characters.join('') + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1)
}
