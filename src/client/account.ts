/** Who is signed in, or a function that returns it. */
export type Account = string | (() => string | null) | null | undefined

/** @throws TypeError if the account is neither a string nor `null`. */
export function currentAccount(account: Account = null): string | null {
  const current: unknown = typeof account === 'function' ? account() : account
  if (current === null || typeof current === 'string') return current
  throw new TypeError(`account must be a string or null (got ${typeof current}).`)
}
