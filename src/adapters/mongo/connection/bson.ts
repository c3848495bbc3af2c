import type { ClientSession, Timestamp } from 'mongodb'

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

/** Returns a placeholder for the server's own time. Its class comes from a response: there may be several drivers. */
export function serverTime({ operationTime }: ClientSession): Timestamp {
  if (operationTime === undefined) throw new TypeError('The session has not received a response yet.')
  return Reflect.construct(operationTime.constructor, [{ t: 0, i: 0 }]) as Timestamp
}

/** Converts a number for a 64-bit integer: 2^31 or more would be stored as a double, and so would their sums. */
export function long(value: number): bigint {
  return BigInt(value)
}

/** Returns a stored number. @throws RangeError if a JavaScript number can't hold it exactly. */
export function readNumber(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value
  throw new RangeError(`The database holds ${String(value)}, which is not a safe integer.`)
}
