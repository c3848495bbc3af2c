import { createWriteBatcher } from '../../../core/store/write-batcher.js'
import type { ClientSession } from 'mongodb'
import { scopeOf } from '../../../core/store/lifecycle.js'
import { abandonedError, combineCalls, type Call } from '../connection/deadline.js'
import { isServerError, isWriteConflict } from '../connection/failures.js'
import type { Namespace } from '../connection/namespace.js'
import { restart, transact } from '../connection/transactions.js'
import { keyId } from '../documents/key-document.js'
import { applyAssumed } from './apply-assumed.js'
import { lockScopes } from './apply-changes.js'
import { createAssumptions, putLatest, type AssumedChanges } from './assumptions.js'
import { ownerGiven, receiverGiven, scopesGiven, type KeyWrite } from './key-write.js'
import { createScopePurges, PURGE_PATIENCE } from './scope-purges.js'
import { eventsOf, scopesOf, writeKeys, type KeyResult } from './write-keys.js'

interface Job {
  /** The scope whose queue the job is in. */
  readonly scope: string
  readonly write: KeyWrite
  readonly call: Call
}

export interface ScopeWrites {
  /**
   * Runs a write. Without a scope, it applies to whichever scope has the key. Default: the scope that the caller named as
   * the owner.
   */
  run(call: Call, write: KeyWrite, scope?: string | null): Promise<KeyResult>
}

/**
 * Batches the writes of each scope. They all change the document of the scope, and MongoDB undoes one of two
 * concurrent transactions that change the same document. So concurrent writes of one process share a transaction, and
 * only processes conflict with each other.
 *
 * A write without a scope joins the queue of the scope in which its key was last seen. If there is none, it runs
 * alone, and joins the queue of its scope once it has met a conflict. The queue only decides which writes share a
 * transaction: the result depends on what is stored at the key.
 */
export function createScopeWrites(namespace: Namespace, recordsEvents: () => boolean): ScopeWrites {
  const lastScopes = createLastScopes()
  const assumptions = createAssumptions()
  const purges = createScopePurges()
  const batcher = createWriteBatcher<Job, KeyResult>({
    run: runBatch,
    conflictKeyOf: ({ write }) => keyId(write.command),
    // The server rolled the batch back. Run each job alone to find the one that failed.
    recoveryFrom: (error) => (isServerError(error) ? 'sequential' : 'fail'),
  })

  /** Leaves out jobs whose callers have timed out. The transaction goes on as long as any caller waits. */
  async function runBatch(jobs: readonly Job[]): Promise<PromiseSettledResult<KeyResult>[]> {
    const open = jobs.filter(({ call, write }) => !call.hasTimedOut && !purges.isSkipped(write))
    const call = combineCalls(open.map(({ call }) => call))
    const results =
      open.length > 0
        ? await Promise.race([runTogether(open, call), rejectAtTimeout(call)])
        : new Map<Job, KeyResult>()
    return jobs.map((job) => {
      const value = results.get(job)
      return value === undefined
        ? { status: 'rejected', reason: abandonedError(undefined) }
        : { status: 'fulfilled', value }
    })
  }

  /** Returns the results of the jobs, without those of purges that were skipped. */
  async function runTogether(jobs: readonly Job[], call: Call): Promise<Map<Job, KeyResult>> {
    const { scope } = jobs[0]!
    const start = performance.now()
    let done: readonly Job[] = []
    const results = await transact({ namespace, call }, async (session, failures) => {
      const isBlocked = performance.now() - start >= PURGE_PATIENCE && isWriteConflict(call.lastError)
      if (failures > 0 && isBlocked) purges.skip(scope)
      const open = jobs.filter(({ write }) => !purges.isSkipped(write))
      done = open
      if (open.length === 0) return []
      const writes = open.map(({ write }) => write)
      const assumed = failures === 0 ? assumptions.plan(scope, writes) : null
      if (assumed !== null) {
        const written = await writeAssumed(session, writes, assumed)
        if (written !== null) return written
        assumptions.forget(scope, writes)
        await restart(session)
      }
      // Other processes write to the scopes too. With the locks taken first, a conflict costs one statement, not all.
      const scopes = new Set([scope, ...writes.flatMap(scopesGiven)])
      if (failures > 0) await lockScopes(namespace, session, scopes)
      const options = { scopes: [scope], recordsEvents: recordsEvents() }
      return writeKeys(namespace, session, writes, options)
    })
    assumptions.remember(
      scope,
      done.map(({ write }) => write),
      results,
    )
    return new Map(done.map((job, index) => [job, results[index]!]))
  }

  /** Writes changes without reading first. Returns `null` if the server holds something else than was assumed. */
  async function writeAssumed(
    session: ClientSession,
    writes: readonly KeyWrite[],
    assumed: AssumedChanges,
  ): Promise<KeyResult[] | null> {
    const { changes } = assumed
    const events = recordsEvents() ? writes.flatMap((write, index) => eventsOf(write, changes[index]!)) : []
    if (!(await applyAssumed(namespace, session, assumed, events))) return null
    return writes.map((write, index) => {
      const plan = changes[index]!
      return { plan, scopes: scopesOf(write, plan, scopeOf(plan.before)) }
    })
  }

  async function runAlone(write: KeyWrite, call: Call): Promise<KeyResult> {
    let scope: string | null = null
    const onScope = (found: string) => (scope = found)
    try {
      const [result] = await transact({ namespace, call, stopsAtConflict: () => scope !== null }, (session) =>
        writeKeys(namespace, session, [write], {
          scopes: scope === null ? [] : [scope],
          onScope,
          recordsEvents: recordsEvents(),
        }),
      )
      return result!
    } catch (error) {
      if (scope === null || !isWriteConflict(error)) throw error
      return batcher.run(scope, { scope, write, call })
    }
  }

  return {
    async run(call, write, given = ownerGiven(write)) {
      const key = keyId(write.command)
      const scope = given ?? lastScopes.of(key)
      if (scope === null) return runAlone(write, call)
      lastScopes.remember(key, receiverGiven(write) ?? scope)
      return purges.runSkippable(scope, write, () => batcher.run(scope, { scope, write, call }))
    },
  }
}

async function rejectAtTimeout(call: Call): Promise<never> {
  await call.timedOut
  throw abandonedError(call.lastError)
}

/** Maximum keys to remember. Beyond it, the oldest is forgotten. */
const MAX_KEYS = 10_000

/** The scope in which this process last saw a key. Only a hint, because other processes write too. */
interface LastScopes {
  of(key: string): string | null
  remember(key: string, scope: string): void
}

function createLastScopes(): LastScopes {
  const scopes = new Map<string, string>()
  return {
    of(key) {
      return scopes.get(key) ?? null
    },
    remember(key, scope) {
      putLatest(scopes, key, scope, MAX_KEYS)
    },
  }
}
