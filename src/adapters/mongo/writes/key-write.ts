import {
  planConfirm,
  planPurge,
  planRelease,
  planRemove,
  planReserve,
  planSetUploadId,
  type KeyChange,
  type LiveRows,
} from '../../../core/store/lifecycle.js'
import type { ObjectReference, ScopeUsage, StorageObject } from '../../../core/store/records.js'
import type {
  ConfirmCommand,
  ConfirmRefusal,
  ReleaseCommand,
  RemoveCommand,
  ReserveCommand,
  ReserveRefusal,
  SetUploadIdCommand,
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
  | { readonly kind: 'purge'; readonly command: PurgeCommand }

/** What `lifecycle.ts` decided for a write: a change, no change, or a refusal. */
export type KeyPlan =
  | KeyChange
  | { readonly outcome: 'unchanged'; readonly row: StorageObject | null }
  | ReserveRefusal
  | ConfirmRefusal
  | { readonly outcome: 'other-upload' }

export function planOf(write: KeyWrite, before: LiveRows, usage: ScopeUsage): KeyPlan {
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
    case 'purge':
      return planPurge(before, write.command.id, write.command.before, write.command.now)
  }
}

/** Returns the scope that the caller named; `null` if none. */
export function scopeGiven(write: KeyWrite): string | null {
  return 'scope' in write.command ? write.command.scope : null
}
