import { StorageError } from '../../core/errors.js'
import { isUnsupportedCall } from '../../core/store/unsupported-call.js'

/** Thrown by the work on an item to end the whole run with `error`, which every other item would fail with as well. */
export class EndsRun extends Error {
  override readonly name = 'EndsRun'
  readonly error: unknown

  constructor(error: unknown) {
    super('The run has ended.', { cause: error })
    this.error = error
  }
}

/** Calls the store. Ends the run if the database is unavailable, or if the driver is too old for the call. */
export async function callStore<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    const isUnavailable = error instanceof StorageError && error.code === 'DATABASE_UNAVAILABLE'
    throw isUnavailable || isUnsupportedCall(error) ? new EndsRun(error) : error
  }
}
