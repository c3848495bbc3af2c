/**
 * An error of the caller: of the body, of `onProgress`, the reason of an abort, or a call that the storage or the options don't
 * support. The call rejects with `reason` itself.
 */
export class CallerError extends Error {
  constructor(readonly reason: unknown) {
    super('The caller ended the operation.')
  }
}

/** Runs a function of the caller. @throws CallerError with what it throws. */
export async function asCaller<T>(call: () => T | Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (reason) {
    throw new CallerError(reason)
  }
}
