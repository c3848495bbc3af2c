import type { Collection } from 'mongodb'
import type { Call } from './deadline.js'
import { serverCode, TIME_LIMIT_EXCEEDED } from './failures.js'
import { rememberCommit, runCommand, type Namespace, type Stored, type Update } from './namespace.js'
import { readWithRetry } from './reads.js'

/**
 * Milliseconds to wait for open transactions that write to the same documents. A process that died in one blocks its
 * documents until the server ends the transaction.
 */
const LONGEST_WAIT = 1000

/**
 * Runs independent updates outside a transaction, with retries, so repeating one must have no further effect. Returns how
 * many documents the last try found, or `null` if it waited for too long, so that some of the updates had no effect.
 */
export async function updatePlainly(
  namespace: Namespace,
  call: Call,
  { collectionName }: Collection<Stored>,
  updates: readonly Update[],
): Promise<number | null> {
  const command = {
    ...{ update: collectionName, updates, ordered: false },
    ...{ writeConcern: { w: 'majority' }, maxTimeMS: LONGEST_WAIT },
  }
  return readWithRetry(namespace, call, async (session) => {
    try {
      const { n, writeConcernError } = await runCommand(namespace, command, session)
      return writeConcernError ? null : Number(n)
    } catch (error) {
      if (serverCode(error) === TIME_LIMIT_EXCEEDED) return null
      throw error
    } finally {
      rememberCommit(namespace.clock, session)
    }
  })
}
