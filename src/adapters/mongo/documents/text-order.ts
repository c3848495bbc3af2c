/** MongoDB compares strings by their UTF-8 bytes, which is the order of code points. JavaScript compares UTF-16 units. */

/** Compares two strings as MongoDB does. */
export function compareBytes(a: string, b: string): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** A surrogate belongs to a code point above all that take one unit. */
function rank(unit: number): number {
  return isSurrogate(unit) ? unit + 0x10000 : unit
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}

const LAST_CODE_POINT = 0x10ffff

/** Returns the least string above all that start with the prefix; `null` if there is none. */
export function endOfPrefix(prefix: string): string | null {
  const points = [...prefix].map((character) => character.codePointAt(0)!)
  while (points.at(-1) === LAST_CODE_POINT) points.pop()
  const last = points.pop()
  if (last === undefined) return null
  return String.fromCodePoint(...points, isSurrogate(last + 1) ? 0xe000 : last + 1)
}
