import { keyId } from '../../../core/names.js'
import type { KeyWrite } from '../../../core/store/lifecycle/decide.js'
import { RecentEntries } from '../../shared/recent-entries.js'
import { createWriteBatcher } from '../../shared/write-batcher.js'
import { abandonedError, type Call } from '../connection/deadline.js'
import { isServerError, isWriteConflict } from '../connection/failures.js'
import type { Namespace } from '../connection/namespace.js'
import { transact } from '../connection/transactions.js'
import { changesSums, ownerGiven, receiverGiven } from './key-write.js'
import { createScopePurges } from './scope-purges.js'
import { createWriteBatches, type Job } from './write-batches.js'
import { writeKeys, type KeyResult } from './write-keys.js'

const REMEMBERED_KEYS = 10_000

/** A job in the queue of a scope. */
interface QueuedJob extends Job {
  readonly scope: string
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
 * only processes conflict with each other. Batches of different scopes share transactions too: see `createWriteBatches`.
 * A write that changes no sums, or whose key another writer holds, has a transaction of its own.
 *
 * A write without a scope joins the queue of the scope in which its key was last seen. If there is none, it runs
 * alone, and joins the queue of its scope once it has met a conflict. The queue only decides which writes share a
 * transaction: the result depends on what is stored at the key.
 */
export function createScopeWrites(namespace: Namespace, recordsEvents: () => boolean): ScopeWrites {
  /** The scope in which this process last saw a key. Only a hint, because other processes write too. */
  const lastScopes = new RecentEntries<string>(REMEMBERED_KEYS)
  const purges = createScopePurges()
  const batches = createWriteBatches({ namespace, recordsEvents, purges })
  const batcher = createWriteBatcher<QueuedJob, KeyResult>({
    async run(jobs) {
      try {
        const results = await batches.run({ scope: jobs[0]!.scope, jobs })
        return jobs.map((job) => {
          const value = results.get(job)
          return value === undefined
            ? { status: 'rejected', reason: abandonedError(undefined) }
            : { status: 'fulfilled', value }
        })
      } catch (error) {
        if (jobs.length === 1 && isWriteConflict(error)) return ['held']
        throw error
      }
    },
    async runHeld(job) {
      const value = (await batches.runHeld({ scope: job.scope, jobs: [job] })).get(job)
      if (value === undefined) throw abandonedError(undefined)
      return value
    },
    conflictKeyOf: ({ write }) => keyId(write.command),
    // The server rolled the batch back. Run each job alone to find the one that failed, or whose key is held.
    recoveryFrom: (error) => (isServerError(error) ? 'sequential' : 'fail'),
  })

  async function runAlone(write: KeyWrite, call: Call): Promise<KeyResult> {
    let scope: string | null = null
    const onScope = (found: string) => {
      if (changesSums(write)) scope = found
    }
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
      const scope = changesSums(write) ? (given ?? lastScopes.get(key)) : null
      if (scope === null) return runAlone(write, call)
      lastScopes.set(key, receiverGiven(write) ?? scope)
      return purges.runSkippable(scope, write, () => batcher.run(scope, { scope, write, call }))
    },
  }
}
