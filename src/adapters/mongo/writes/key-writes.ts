import { keyId } from '../../../core/names.js'
import { RecentEntries } from '../../../core/recent-entries.js'
import { scopeOf } from '../../../core/store/lifecycle/change.js'
import {
  outcomeOf,
  scopesGiven,
  type Decision,
  type KeyWrite,
  type KeyWriteOutcome,
} from '../../../core/store/lifecycle/decide.js'
import { HELD, createLane } from '../../shared/lane/lane.js'
import { isNested, partsOf } from '../../shared/lane/parts.js'
import type { Job } from '../../shared/lane/waiting-jobs.js'
import { abandonedError, backOff, combineCalls, type Call } from '../connection/deadline.js'
import { isServerError, isWriteConflict } from '../connection/failures.js'
import { isRouted, type Namespace } from '../connection/namespace.js'
import { restart, transact } from '../connection/transactions.js'
import { lockScopes } from './commands.js'
import { decideAndWrite, reserveFreeKey } from './plan.js'

/** Keys whose scope is remembered. A write without a scope may conflict once its key is forgotten. */
const REMEMBERED_KEYS = 10_000
const REMEMBERED_SCOPES = 10_000

/** Milliseconds after which a transaction, which may be blocked or without a response, keeps no others waiting. */
const PATIENCE = 100
/**
 * Milliseconds that a purge waits, in flight or in the lane, for other processes that write to its scope. One that
 * died blocks it for a minute, and a purge may skip a row. So may the end of a temporary object.
 */
const PURGE_PATIENCE = 1000
/**
 * Conflicts behind the locks of its scopes after which the writes of a group run one by one. A transaction that passes
 * may hold a key as well as one that stays, and many writes one by one would lose many turns to other processes.
 */
const GROUP_CONFLICTS = 3
/** Milliseconds after a conflict with another process in a scope during which transactions lock it before they read. */
const CONTENDED = 1000
const SKIPPED: Decision = { outcome: 'unchanged', row: null }

interface WriteJob extends Job {
  readonly write: KeyWrite
  readonly call: Call
  /** When the caller called, in milliseconds. */
  readonly since: number
  /** How often its transactions lost the scopes to another process. */
  readonly losses: { count: number }
  /** Whether this process has seen the key before. */
  readonly isKeySeen: boolean
}

/** Ends a transaction that lost its scopes to another process. */
class LostTurn extends Error {
  override readonly name = 'LostTurn'
}

/** Refuses a transaction of several scopes: another process that wants one of them would keep the others waiting. */
class TooManyScopes extends Error {
  override readonly name = 'TooManyScopes'
}

/**
 * Creates the writes of keys, which share transactions: see `createLane`. A write that changes no sums names no scope,
 * so it never waits for the writes of one. Another one without a scope names that in which its key was last seen, as a
 * hint.
 */
export function createKeyWrites(namespace: Namespace, recordsEvents: () => boolean) {
  const lastScopes = new RecentEntries<string>(REMEMBERED_KEYS)
  /** Scopes whose last reserve was of a free key. The next one that runs alone assumes the same, and saves a command. */
  const freeKeyScopes = new RecentEntries<true>(REMEMBERED_SCOPES)
  /** When a transaction last met another process in a scope. */
  const conflicts = new RecentEntries<number>(REMEMBERED_SCOPES)
  const lane = createLane<WriteJob, Decision>({
    run: (jobs) =>
      commit(jobs).catch((error: unknown) => {
        if (jobs.length === 1 && isWriteConflict(error)) return [HELD]
        throw error
      }),
    tooLate: ({ call }) => (call.hasTimedOut ? abandonedError(call.lastError) : null),
    wasUndone: (error) => isServerError(error) || error instanceof TooManyScopes,
    pauseIfLost: (error, jobs) => (error instanceof LostTurn ? pauseAfterLoss(jobs) : null),
    async hold(job, holds) {
      await backOff(holds)
      const scope = scopeFound(job)
      return { again: scope === null ? job : { ...job, scopes: [scope] } }
    },
    // Of two transactions that write the same document, the server undoes one.
    counts: 'groups',
    untilNextCalls: () => new Promise((resolve) => setImmediate(resolve)),
    patience: PATIENCE,
  })

  /** Writes in one transaction, as long as a caller waits. */
  async function commit(jobs: readonly WriteJob[]): Promise<readonly Decision[]> {
    let open = jobs
    const call = combineCalls(open.map((job) => job.call))
    const hasParts = partsOf(open, ({ scopes }) => scopes).length > 1
    const scopes = new Set(open.flatMap((job) => job.scopes))
    const isJoined = hasParts || !isNested(open)
    const areContended = [...scopes].some(isContended)
    if (isJoined && areContended) throw new TooManyScopes()
    let locks: 'none' | 'wanted' | 'held' = 'none'
    let conflictsOverKeys = 0

    /**
     * Returns whether to leave a write conflict to the lane: one that concerns one of several parts, a key behind the
     * locks of the scopes, or a job whose scope is known by now. Throws if it was over the locks.
     */
    function stopsAtConflict(): boolean {
      if (locks === 'held') conflictsOverKeys++
      else if (!hasParts) for (const scope of scopes) conflicts.set(scope, performance.now())
      if (locks === 'wanted') throw new LostTurn()
      const most = open.length > 1 ? GROUP_CONFLICTS : 1
      return isJoined || conflictsOverKeys >= most || scopeFound(jobs[0]!) !== null
    }

    function skipPurges(): void {
      const blocked = performance.now() - PURGE_PATIENCE
      const isSkipped = ({ write, scopes: [scope], since }: WriteJob) =>
        (write.kind === 'purge' || write.kind === 'endOne') && scopes.has(scope!) && since <= blocked
      open = open.filter((job) => !isSkipped(job))
      lane.end(isSkipped, SKIPPED)
    }

    const committed = transact(
      {
        namespace,
        call,
        stopsAtConflict,
        // An adoption depends on rows of other keys, which it does not change.
        readsOneMoment: open.some(({ write }) => write.kind === 'adopt') && (await isRouted(namespace)),
      },
      async (transaction, failures) => {
        if (isWriteConflict(call.lastError)) skipPurges()
        if (open.length === 0) return []
        locks = 'none'
        const writes = open.map(({ write }) => write)
        const [first] = open
        if (failures === 0 && open.length === 1 && assumesFreeKey(first!)) {
          const reserved = await reserveFreeKey(transaction, first.write)
          if (reserved !== null) return [reserved]
          await restart(transaction.session)
        }
        // Other processes write to the scopes too. With the locks taken first, a conflict costs one statement, not all.
        if ((failures > 0 || areContended) && scopes.size > 0) {
          locks = 'wanted'
          await lockScopes(transaction, scopes)
          locks = 'held'
        }
        const onScope = (key: string, scope: string) => lastScopes.set(key, scope)
        return decideAndWrite(transaction, writes, { scopes, onScope, recordsEvents: recordsEvents() })
      },
    )
    const timedOut = call.timedOut.then(() => {
      throw abandonedError(call.lastError)
    })
    const decisions = await Promise.race([committed, timedOut])
    open.forEach(({ write }, index) => remember(write, decisions[index]!))
    return jobs.map((job) => decisions[open.indexOf(job)] ?? SKIPPED)
  }

  function isContended(scope: string): boolean {
    return performance.now() - (conflicts.get(scope) ?? -Infinity) < CONTENDED
  }

  /** Pauses, the longer the more often one of the jobs lost, and the shorter the older the oldest is. */
  function pauseAfterLoss(jobs: readonly WriteJob[]): Promise<void> {
    const counts = jobs.map(({ losses }) => losses.count++)
    return backOff(Math.max(...counts), Math.min(...jobs.map(({ since }) => since)))
  }

  function assumesFreeKey(job: WriteJob): job is WriteJob & { readonly write: KeyWrite<'reserve'> } {
    return (
      job.write.kind === 'reserve' && !job.isKeySeen && freeKeyScopes.get(job.write.command.scope) !== null
    )
  }

  function remember(write: KeyWrite, decision: Decision): void {
    if (write.kind !== 'reserve') return
    const { scope } = write.command
    if (decision.outcome === 'change' && scopeOf(decision.before) === null) freeKeyScopes.set(scope, true)
    else freeKeyScopes.delete(scope)
  }

  /** Returns the scope that turned out to have the key of a job without a scope. */
  function scopeFound({ key, scopes, write }: WriteJob): string | null {
    return scopes.length === 0 && changesSums(write) ? lastScopes.get(key) : null
  }

  return async <Write extends KeyWrite>(
    call: Call,
    write: Write,
    scope?: string,
  ): Promise<KeyWriteOutcome<Write>> => {
    const key = keyId(write.command)
    const last = lastScopes.get(key)
    const given = scope === undefined ? scopesGiven(write) : [scope]
    const scopes = !changesSums(write) ? [] : given.length === 0 && last !== null ? [last] : given
    const receiver = scopes.at(-1)
    if (receiver !== undefined) lastScopes.set(key, receiver)
    const decision = await lane.add({
      ...{ key, scopes, write, call, since: performance.now() },
      ...{ losses: { count: 0 }, isKeySeen: last !== null },
    })
    return outcomeOf(write, decision)
  }
}

function changesSums({ kind }: KeyWrite): boolean {
  return kind !== 'update' && kind !== 'setUploadId'
}
