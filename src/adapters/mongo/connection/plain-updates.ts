import type { Collection, Document } from 'mongodb'
import type { Call } from './deadline.js'
import { isRetryable, serverCode } from './failures.js'
import { rememberCommit, runCommand, type Namespace, type Stored } from './namespace.js'
import { readWithRetry } from './reads.js'

/** A statement of an `update` command whose filter no longer matches once it was applied, or that may be applied twice. */
export interface PlainUpdate {
  readonly q: Document
  readonly u: Document
  readonly hint?: string
}

const TIME_LIMIT_EXCEEDED = 50

/**
 * Milliseconds to wait for open transactions that write to the same documents. A process that died in one blocks its
 * documents until the server ends the transaction.
 */
const LONGEST_WAIT = 2000

/**
 * Runs independent updates outside a transaction, with retries. Returns the number of documents that they found, or
 * `null` if it is unknown: after a lost response, or if some of the updates had to wait for too long.
 */
export async function updatePlainly(
  namespace: Namespace,
  call: Call,
  { collectionName }: Collection<Stored>,
  updates: readonly PlainUpdate[],
): Promise<number | null> {
  const command = {
    ...{ update: collectionName, updates, ordered: false },
    ...{ writeConcern: { w: 'majority' }, maxTimeMS: LONGEST_WAIT },
  }
  let isKnown = true
  return readWithRetry(namespace, call, async (session) => {
    try {
      const { n, writeConcernError } = await runCommand(namespace, command, session)
      return isKnown && !writeConcernError ? Number(n) : null
    } catch (error) {
      if (serverCode(error) === TIME_LIMIT_EXCEEDED) return null
      if (isRetryable(error)) isKnown = false
      throw error
    } finally {
      rememberCommit(namespace.clock, session)
    }
  })
}
