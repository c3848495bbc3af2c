import type { AdoptCommand, Confirmed, KnownBytes, Refusal, RowOutcome, StoreDriver } from '../driver.js'
import { copyObject, type ScopeUsage, type StorageObject } from '../records.js'
import { scopeOf, type KeyChange, type LiveRows, type Unchanged } from './change.js'
import * as plans from './plans.js'
import * as temporary from './temporary.js'
import { planReject } from './verdicts.js'
import { NO_USAGE } from './usage.js'

/** The writes of one key, as methods of a driver. `purgeExpired`, `keep` and `endTemporary` have one for each key. */
interface KeyWrites extends Pick<
  StoreDriver,
  'reserve' | 'setUploadId' | 'confirm' | 'release' | 'adopt' | 'update' | 'transfer' | 'remove' | 'reject'
> {
  purge(command: plans.PurgeCommand): Promise<RowOutcome>
  keepOne(command: temporary.KeepOneCommand): Promise<RowOutcome>
  endOne(command: temporary.EndOneCommand): Promise<RowOutcome>
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

/**
 * Decides a write: returns the change to make, or why there is none. The rules are those of `StoreDriver`.
 *
 * @example
 * import { decide, outcomeOf, NO_USAGE, type KeyWrite } from '@svc/db/adapter'
 *
 * function write(write: KeyWrite) {
 *   const decision = decide(write, { live, usage: () => NO_USAGE, known: () => null })
 *   if (decision.outcome === 'change') save(decision.after)
 *   return outcomeOf(write, decision)
 * }
 */
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
    case 'reject':
      return planReject(live, write.command)
    case 'keepOne':
      return temporary.planKeepOne(live, write.command)
    case 'endOne':
      return temporary.planEndOne(live, write.command)
  }
}

/** A write that is not refused. */
type Done = KeyChange | Unchanged<StorageObject | null>

/** The outcome of a write that is not refused. The others return a row only. */
const DONE: Readonly<Partial<Record<KeyWrite['kind'], string>>> = {
  reserve: 'reserved',
  setUploadId: 'set',
  confirm: 'confirmed',
  adopt: 'adopted',
  update: 'updated',
  transfer: 'transferred',
}

/**
 * Returns what the driver returns for a write: copies of the rows, without fields that only drivers need.
 *
 * @example
 * import { outcomeOf, type Decision, type KeyWrite } from '@svc/db/adapter'
 *
 * const respond = (write: KeyWrite<'release'>, decision: Decision) => outcomeOf(write, decision)
 */
export function outcomeOf<Write extends KeyWrite>(write: Write, decision: Decision): KeyWriteOutcome<Write>
export function outcomeOf(write: KeyWrite, decision: Decision): object {
  switch (decision.outcome) {
    case 'change':
    case 'unchanged': {
      // Ending an object returns the row only if that is removed, and not if it is kept.
      if (write.kind === 'endOne' && !(decision.outcome === 'change' && decision.after.active === null)) {
        return { row: null }
      }
      const row = decision.row && copyObject(decision.row)
      const outcome = DONE[write.kind]
      if (outcome === undefined) return { row }
      if (write.kind === 'confirm') return { outcome, row, ...howConfirmed(decision) }
      const scopes = touchedScopes(write, decision)
      return scopes === null ? { outcome, row } : { outcome, row, scopes }
    }
    case 'known':
      return { outcome: 'known', object: decision.object && copyObject(decision.object) }
    default:
      return decision
  }
}

function howConfirmed(decision: Done): Pick<Confirmed, 'isRepeat' | 'replaced'> {
  if (decision.outcome === 'unchanged') return { isRepeat: true, replaced: null }
  const { active } = decision.before
  // An arrival leaves the active row in its place.
  const replaced = active === decision.after.active ? null : active
  return { isRepeat: false, replaced: replaced && copyObject(replaced) }
}

/** Returns the scopes that a write touched, if it is one that may end the expired reservation of another scope. */
function touchedScopes(write: KeyWrite, decision: Done): string[] | null {
  if (write.kind !== 'reserve' && write.kind !== 'adopt') return null
  const other = decision.outcome === 'change' ? scopeOf(decision.before) : null
  const { scope } = write.command
  return other === null || other === scope ? [scope] : [scope, other]
}

/** Returns the scopes that the caller named, the receiver of a transfer last. */
export function scopesGiven({ command }: KeyWrite): readonly string[] {
  if ('from' in command) return [command.from, command.to]
  return 'scope' in command && command.scope !== null ? [command.scope] : []
}
