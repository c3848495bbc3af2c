import type { AdoptCommand, KnownBytes, Refusal, RowOutcome, StoreDriver } from '../driver.js'
import { copyObject, type ScopeUsage, type StorageObject } from '../records.js'
import { scopeOf, type KeyChange, type LiveRows, type Unchanged } from './change.js'
import * as plans from './plans.js'
import { NO_USAGE } from './usage.js'

/** The writes of one key, as methods of a driver. A purge of many keys has one for each. */
interface KeyWrites extends Pick<
  StoreDriver,
  'reserve' | 'setUploadId' | 'confirm' | 'release' | 'adopt' | 'update' | 'transfer' | 'remove'
> {
  purge(command: plans.PurgeCommand): Promise<RowOutcome>
}

/** A write of one key. */
export type KeyWrite<Kind extends keyof KeyWrites = keyof KeyWrites> = {
  readonly [K in Kind]: { readonly kind: K; readonly command: Parameters<KeyWrites[K]>[0] }
}[Kind]

/** What the driver returns for a write. */
export type KeyWriteOutcome<Write extends KeyWrite> = Awaited<ReturnType<KeyWrites[Write['kind']]>>

/** What a write is decided on. It MUST NOT change before the change is written. */
export interface WriteState {
  /** The live rows of the key. */
  readonly live: LiveRows
  /** Returns the usage of a scope. Called at most once, for the scope that the write may make grow. */
  readonly usage: (scope: string) => ScopeUsage
  /**
   * Returns what names the bytes of an adopt already, wherever it is, except a row that `receivesBytes`: a live row,
   * `'leftover'`, or `null` for nothing.
   */
  readonly known: (command: AdoptCommand) => StorageObject | 'leftover' | null
}

/** What was decided: a change to make, nothing to change, bytes that are known already, or a refusal. */
export type Decision = KeyChange | Unchanged<StorageObject | null> | KnownBytes | Refusal

/** Decides a write: returns the change to make, or why there is none. The rules are those of `StoreDriver`. */
export function decide(write: KeyWrite, { live, usage, known }: WriteState): Decision {
  switch (write.kind) {
    case 'reserve':
      return plans.planReserve(live, usage(write.command.scope), write.command)
    case 'setUploadId':
      return plans.planSetUploadId(live, write.command)
    case 'confirm': {
      const scope = scopeOf(live)
      return plans.planConfirm(live, scope === null ? NO_USAGE : usage(scope), write.command)
    }
    case 'release':
      return plans.planRelease(live, write.command)
    case 'purge':
      return plans.planPurge(live, write.command)
    case 'adopt':
      return plans.planAdopt(live, usage(write.command.scope), write.command, known(write.command))
    case 'update':
      return plans.planUpdate(live, write.command)
    case 'transfer':
      return plans.planTransfer(live, usage(write.command.to), write.command)
    case 'remove':
      return plans.planRemove(live, write.command)
  }
}

/** The outcome of a write that is not refused. The others return a row only. */
const DONE: Readonly<Partial<Record<KeyWrite['kind'], string>>> = {
  reserve: 'reserved',
  setUploadId: 'set',
  confirm: 'confirmed',
  adopt: 'adopted',
  transfer: 'transferred',
}

/** Returns what the driver returns for a write: copies of the rows, without fields that only drivers need. */
export function outcomeOf<Write extends KeyWrite>(write: Write, decision: Decision): KeyWriteOutcome<Write>
export function outcomeOf(write: KeyWrite, decision: Decision): object {
  switch (decision.outcome) {
    case 'change':
    case 'unchanged': {
      const row = decision.row && copyObject(decision.row)
      const scopes = touchedScopes(write, decision)
      const outcome = DONE[write.kind]
      return outcome === undefined ? { row, scopes } : { outcome, row, scopes }
    }
    case 'known': {
      const object = decision.object && copyObject(decision.object)
      return { outcome: 'known', object, scopes: touchedScopes(write, decision) }
    }
    default:
      return decision
  }
}

/** Returns the scopes that the caller named, the receiver of a transfer last. */
export function scopesGiven({ command }: KeyWrite): readonly string[] {
  if ('from' in command) return [command.from, command.to]
  return 'scope' in command && command.scope !== null ? [command.scope] : []
}

/** Returns the scopes of a write, also if nothing changed: an earlier call may have done the work without being able to report. */
function touchedScopes(write: KeyWrite, decision: Exclude<Decision, Refusal>): string[] {
  const row = decision.outcome === 'known' ? decision.object : decision.row
  const changed =
    decision.outcome === 'change' ? [scopeOf(decision.before), scopeOf(decision.after)] : [row?.scope ?? null]
  const scopes = new Set([...scopesGiven(write), ...changed])
  return [...scopes].filter((scope) => scope !== null)
}
