/** BSON options of every command. They override whatever the application's client is set to. */
export const BSON = {
  promoteLongs: true,
  promoteValues: true,
  promoteBuffers: false,
  useBigInt64: false,
  bsonRegExp: false,
  ignoreUndefined: false,
  serializeFunctions: false,
  checkKeys: false,
  enableUtf8Validation: true,
  fieldsAsRaw: {},
  raw: false,
} as const

/**
 * Converts a number for storage as a 64-bit integer. A JavaScript number of 2^31 or more would be stored as a double,
 * and so would every sum that includes it.
 */
export function long(value: number): bigint {
  return BigInt(value)
}

/**
 * Returns a stored number.
 *
 * @throws RangeError if a JavaScript number can't hold it exactly. A rounded size would go unnoticed.
 */
export function readNumber(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value
  throw new RangeError(`The database holds ${String(value)}, which is not a safe integer.`)
}
