import {
  planAdopt,
  planConfirm,
  planPurge,
  planRelease,
  planRemove,
  planReserve,
  planSetUploadId,
  planTransfer,
  planUpdate,
  type KeyChange,
  type LiveRows,
} from '../../../core/store/lifecycle.js'
import type { ObjectReference, ScopeUsage, StorageObject } from '../../../core/store/records.js'
import type {
  AdoptCommand,
  AdoptRefusal,
  ConfirmCommand,
  ConfirmRefusal,
  KnownBytes,
  ReleaseCommand,
  RemoveCommand,
  ReserveCommand,
  ReserveRefusal,
  SetUploadIdCommand,
  TransferCommand,
  UpdateCommand,
} from '../../../core/store/driver.js'

/** Removes an expired reservation. */
export interface PurgeCommand extends ObjectReference {
  readonly id: string
  readonly before: Date
  readonly now: Date
}

/** A write of one key. */
export type KeyWrite =
  | { readonly kind: 'reserve'; readonly command: ReserveCommand }
  | { readonly kind: 'confirm'; readonly command: ConfirmCommand }
  | { readonly kind: 'setUploadId'; readonly command: SetUploadIdCommand }
  | { readonly kind: 'release'; readonly command: ReleaseCommand }
  | { readonly kind: 'remove'; readonly command: RemoveCommand }
  | { readonly kind: 'update'; readonly command: UpdateCommand }
  | { readonly kind: 'transfer'; readonly command: TransferCommand }
  | AdoptWrite
  | { readonly kind: 'purge'; readonly command: PurgeCommand }

export interface AdoptWrite {
  readonly kind: 'adopt'
  readonly command: AdoptCommand
}

/** What `lifecycle.ts` decided for a write: a change, no change, or a refusal. */
export type KeyPlan =
  | KeyChange
  | { readonly outcome: 'unchanged'; readonly row: StorageObject | null }
  | ReserveRefusal
  | ConfirmRefusal
  | { readonly outcome: 'other-upload' }
  | KnownBytes
  | AdoptRefusal

/** What a plan is based on. */
export interface PlanState {
  /** The rows at the key. */
  readonly before: LiveRows
  /** The usage of the scope that the write may make grow. */
  readonly usage: ScopeUsage
  /** What names the bytes of an adoption already: see `planAdopt`. */
  readonly known: StorageObject | 'leftover' | null
}

export function planOf(write: KeyWrite, { before, usage, known }: PlanState): KeyPlan {
  switch (write.kind) {
    case 'reserve':
      return planReserve(before, usage, write.command)
    case 'confirm':
      return planConfirm(before, usage, write.command)
    case 'setUploadId':
      return planSetUploadId(before, write.command)
    case 'release':
      return planRelease(before, write.command)
    case 'remove':
      return planRemove(before, write.command)
    case 'update':
      return planUpdate(before, write.command)
    case 'transfer':
      return planTransfer(before, usage, write.command)
    case 'adopt':
      return planAdopt(before, usage, write.command, known)
    case 'purge':
      return planPurge(before, write.command.id, write.command.before, write.command.now)
  }
}

/** Returns whether a write depends on rows of other keys, which it does not change. */
export function looksAtOtherKeys({ kind }: KeyWrite): boolean {
  return kind === 'adopt'
}

/** Returns whether a write may change the sums of a scope. */
export function changesSums({ kind }: KeyWrite): boolean {
  return kind !== 'update' && kind !== 'setUploadId'
}

/** Returns the scopes that the caller named. */
export function scopesGiven({ command }: KeyWrite): readonly string[] {
  if ('from' in command) return [command.from, command.to]
  return 'scope' in command && command.scope !== null ? [command.scope] : []
}

/** Returns the scope that the caller named as the owner; `null` if none. */
export function ownerGiven(write: KeyWrite): string | null {
  return scopesGiven(write)[0] ?? null
}

/** Returns the scope that the caller named as the one to which the write adds; `null` if none. */
export function receiverGiven(write: KeyWrite): string | null {
  return scopesGiven(write).at(-1) ?? null
}
