import { scopesGiven, type KeyWrite } from '../../../core/store/lifecycle/decide.js'

/** Returns whether a write depends on rows of other keys, which it does not change. */
export function looksAtOtherKeys({ kind }: KeyWrite): boolean {
  return kind === 'adopt'
}

/** Returns whether a write may change the sums of a scope. */
export function changesSums({ kind }: KeyWrite): boolean {
  return kind !== 'update' && kind !== 'setUploadId'
}

/** Returns the scope that the caller named as the owner; `null` if none. */
export function ownerGiven(write: KeyWrite): string | null {
  return scopesGiven(write)[0] ?? null
}

/** Returns the scope that the caller named as the one to which the write adds; `null` if none. */
export function receiverGiven(write: KeyWrite): string | null {
  return scopesGiven(write).at(-1) ?? null
}
