import type { ClientSession } from 'mongodb'
import { keyId } from '../../../core/names.js'
import { scopesGiven, type KeyWrite } from '../../../core/store/lifecycle/decide.js'
import { abandonedError, combineCalls, type Call } from '../connection/deadline.js'
import { isServerError, isWriteConflict } from '../connection/failures.js'
import type { Namespace } from '../connection/namespace.js'
import { isRouted } from '../connection/router.js'
import { restart, transact } from '../connection/transactions.js'
import { applyAssumed } from './apply-assumed.js'
import { lockScopes, MANY } from './apply-changes.js'
import { createAssumptions, type AssumedChanges } from './assumptions.js'
import { looksAtOtherKeys } from './key-write.js'
import { PURGE_PATIENCE, type ScopePurges } from './scope-purges.js'
import { createTransactionGroups } from './transaction-groups.js'
import { eventsOf, writeKeys, type KeyResult } from './write-keys.js'

/** Milliseconds after which a batch gives up if another writer holds one of its keys. */
const HELD_TIMEOUT = 100

/** A write of a caller. */
export interface Job {
  readonly write: KeyWrite
  readonly call: Call
}

/** Writes of different keys that share a transaction. */
export interface WriteBatch {
  /** The scope in whose queue they were. They may change other scopes too. */
  readonly scope: string
  readonly jobs: readonly Job[]
}

export interface WriteBatchOptions {
  readonly namespace: Namespace
  readonly recordsEvents: () => boolean
  readonly purges: ScopePurges
}

/** The results of jobs, without those that were left out: their callers have timed out, or skip them. */
export type JobResults = ReadonlyMap<Job, KeyResult>

export interface WriteBatches {
  /**
   * Runs a batch. While some are in flight, those of different scopes share transactions. Rejects with a write conflict if
   * another writer holds a key of the batch.
   */
  run(batch: WriteBatch): Promise<JobResults>
  /** Runs a batch in a transaction of its own. It never locks its scope, and waits for its keys until its deadline. */
  runHeld(batch: WriteBatch): Promise<JobResults>
}

export function createWriteBatches({ namespace, recordsEvents, purges }: WriteBatchOptions): WriteBatches {
  const assumptions = createAssumptions()

  /** Leaves out what no caller waits for, and goes on as long as any of the others waits. */
  async function runInTransaction(batches: readonly WriteBatch[], isHeld = false): Promise<JobResults> {
    const open = openJobs(batches, ({ call, write }) => !call.hasTimedOut && !purges.isSkipped(write))
    if (open.length === 0) return new Map()
    const call = combineCalls(open.flatMap(({ jobs }) => jobs.map(({ call }) => call)))
    return Promise.race([commit(open, call, isHeld), rejectAtTimeout(call)])
  }

  async function commit(batches: readonly WriteBatch[], call: Call, isHeld: boolean): Promise<JobResults> {
    const start = performance.now()
    const all = writesOf(batches)
    const timeout = all.length > 1 ? HELD_TIMEOUT : 0
    let areScopesLocked = false
    const stopsAtConflict = () => {
      // A write conflict concerns one of the batches, and the others need not wait for it.
      if (batches.length > 1) return true
      // One behind the locks of the scopes concerns a key. A transfer may wait for the scope that receives the object.
      const concernsKey = areScopesLocked || all.some((write) => scopesGiven(write).length > 1)
      return concernsKey && !isHeld && performance.now() - start >= timeout
    }
    const readsOneMoment = all.some(looksAtOtherKeys) && (await isRouted(namespace))
    let open: readonly WriteBatch[] = []
    const results = await transact(
      { namespace, call, stopsAtConflict, readsOneMoment },
      async (session, failures) => {
        const isBlocked = performance.now() - start >= PURGE_PATIENCE && isWriteConflict(call.lastError)
        if (failures > 0 && isBlocked) for (const { scope } of batches) purges.skip(scope)
        open = openJobs(batches, ({ write }) => !purges.isSkipped(write))
        const writes = writesOf(open)
        if (writes.length === 0) return []
        const assumed = failures === 0 ? planAll(open) : null
        if (assumed !== null) {
          const written = await writeAssumed(session, writes, assumed)
          if (written !== null) return written
          for (const batch of open) assumptions.forget(batch.scope, writesOf([batch]))
          await restart(session)
        }
        const scopes = open.map(({ scope }) => scope)
        // Other processes write to the scopes too. With the locks taken first, a conflict costs one statement, not all.
        const locked = new Set([...scopes, ...writes.flatMap(scopesGiven)])
        areScopesLocked = false
        if (failures > 0 && !isHeld) {
          await lockScopes(namespace, session, locked)
          areScopesLocked = true
        }
        return writeKeys(namespace, session, writes, { scopes, recordsEvents: recordsEvents() })
      },
    )
    const byJob = new Map(open.flatMap(({ jobs }) => jobs).map((job, index) => [job, results[index]!]))
    for (const batch of open) {
      const ofBatch = batch.jobs.map((job) => byJob.get(job)!)
      assumptions.remember(batch.scope, writesOf([batch]), ofBatch)
    }
    return byJob
  }

  /** Plans all batches without reading. Returns `null` if any of them should read first. */
  function planAll(batches: readonly WriteBatch[]): AssumedChanges[] | null {
    // Many documents are replaced the fastest if their keys were read.
    if (writesOf(batches).filter(({ kind }) => kind === 'confirm').length >= MANY) return null
    const all: AssumedChanges[] = []
    for (const batch of batches) {
      const planned = assumptions.plan(batch.scope, writesOf([batch]))
      if (planned === null) return null
      all.push(planned)
    }
    return all
  }

  /** Writes changes without reading first. Returns `null` if the server holds something else than was assumed. */
  async function writeAssumed(
    session: ClientSession,
    writes: readonly KeyWrite[],
    assumed: readonly AssumedChanges[],
  ): Promise<KeyResult[] | null> {
    const changes = assumed.flatMap(({ changes }) => changes)
    const events = recordsEvents() ? writes.flatMap((write, index) => eventsOf(write, changes[index]!)) : []
    if (!(await applyAssumed(namespace, session, assumed, events))) return null
    return changes
  }

  const run = createTransactionGroups<WriteBatch, JobResults>({
    runAlone: (batch) => runInTransaction([batch]),
    async runTogether(batches) {
      try {
        const results = await runInTransaction(batches)
        return batches.map(() => results)
      } catch (error) {
        // The server undid the transaction because of one of the batches.
        if (isServerError(error)) return null
        throw error
      }
    },
    documentsOf: ({ scope, jobs }) => [
      ...new Set([scope, ...jobs.flatMap(({ write }) => [...scopesGiven(write), keyId(write.command)])]),
    ],
    sizeOf: ({ jobs }) => jobs.length,
  })

  return { run, runHeld: (batch) => runInTransaction([batch], true) }
}

function openJobs(batches: readonly WriteBatch[], isOpen: (job: Job) => boolean): WriteBatch[] {
  return batches
    .map(({ scope, jobs }) => ({ scope, jobs: jobs.filter(isOpen) }))
    .filter(({ jobs }) => jobs.length > 0)
}

function writesOf(batches: readonly WriteBatch[]): KeyWrite[] {
  return batches.flatMap(({ jobs }) => jobs.map(({ write }) => write))
}

async function rejectAtTimeout(call: Call): Promise<never> {
  await call.timedOut
  throw abandonedError(call.lastError)
}
