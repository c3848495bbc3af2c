import { withoutResponse } from './client-error.js'

/** Who is signed in, or a function that returns it. `null` and `undefined`: no user. */
export type Account = string | (() => string | null | undefined) | null | undefined

/**
 * Returns who is signed in now. Like the other functions of the application, one that throws counts as a lost response.
 *
 * @throws TypeError if the account is invalid.
 * @throws S3ClientError `NETWORK_ERROR` if the function throws.
 */
export function accountOf(option: Account): string | null {
  let current: unknown
  try {
    current = typeof option === 'function' ? option() : option
  } catch (cause) {
    throw withoutResponse({ aborted: false }, undefined, cause)
  }
  if (current == null) return null
  if (typeof current === 'string') return current
  throw new TypeError('account must be a string or null.')
}

/** Returns who is signed in now, or `undefined` if the application can't say. */
export function knownAccount(option: Account): string | null | undefined {
  try {
    return accountOf(option)
  } catch {
    return undefined
  }
}
