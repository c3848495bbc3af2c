/** A 64-bit integer. As a number of JavaScript, a size from 2^31 on would become a double, and so would every sum it is added to. */
export function long(value: number): bigint {
  return BigInt(value)
}

/** @throws RangeError for what a number can't hold exactly: a rounded one would be believed. */
export function readNumber(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value
  throw new RangeError(`The database holds ${String(value)}, which is no safe integer.`)
}
