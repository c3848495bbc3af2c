/** A registered symbol, because the ESM and the CommonJS build are two copies of this module. */
const UNSUPPORTED = Symbol.for('@svc/db/unsupported-call')

/** Creates the error for a call that the driver is too old for. The store throws it before it calls the driver. */
export function unsupportedCall(message: string): TypeError {
  return Object.defineProperty(new TypeError(message), UNSUPPORTED, { value: true })
}

/** Returns whether a call of the store had no effect because its driver is too old. Other `TypeError`s are bugs. */
export function isUnsupportedCall(error: unknown): boolean {
  return error instanceof TypeError && UNSUPPORTED in error
}
