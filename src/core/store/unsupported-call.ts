/** A registered symbol, because the ESM and the CommonJS build are two copies of this module. */
const UNSUPPORTED = Symbol.for('@svc/db/unsupported-call')

/**
 * Creates the error for a call that the driver or the storage is too old for, or that the options don't allow. It is thrown
 * before the call has any effect.
 */
export function unsupportedCall(message: string): TypeError {
  return Object.defineProperty(new TypeError(message), UNSUPPORTED, { value: true })
}

/** Returns whether a call had no effect because the driver, the storage or the options don't support it. Other `TypeError`s are bugs. */
export function isUnsupportedCall(error: unknown): boolean {
  return error instanceof TypeError && UNSUPPORTED in error
}
