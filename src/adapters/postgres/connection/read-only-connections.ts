import { detached } from '../../../core/detached.js'
import type { PostgresSql } from './database.js'
import { lostResponse } from './failures.js'

/** What an instance of postgres.js has. The `sql` of a transaction has no `begin`. */
interface Instance {
  readonly options?: { readonly max?: number }
  readonly begin?: (use: (sql: PostgresSql) => Promise<unknown>) => Promise<unknown>
}

/**
 * Lets the server end the session if it is read-only, as a standby always is. Needs no permission. A session that ended itself
 * within a statement would leave its error to the next one, because postgres.js keeps the state of a connection that breaks.
 */
const EXPIRE_IF_READ_ONLY = `
  SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', '1', true)
  WHERE pg_catalog.current_setting('transaction_read_only') = 'on'`

const DEFAULT_MAX = 10

/**
 * Returns a function that ends the connections of an instance whose server takes no writes. postgres.js keeps a connection
 * for 45 to 90 minutes, whatever it answers, so after a failover writes would be refused for as long, even if the name of
 * the server leads to the new primary by then. `pg` drops a connection after each error.
 *
 * Queries of the application are not affected, because a transaction has its connection to itself.
 */
export function createReadOnlyDrop(sql: PostgresSql): () => void {
  const { options, begin } = sql as Instance
  let isDropping = false

  async function drop(): Promise<void> {
    // postgres.js passes its idle connections on in turn, so as many transactions as connections meet each of them.
    for (let left = options?.max ?? DEFAULT_MAX; left > 0; left--) {
      // Rejects as soon as the connection has ended.
      await begin!(expireIfReadOnly).catch(() => undefined)
    }
  }

  return () => {
    if (isDropping || begin === undefined) return
    isDropping = true
    void detached(drop).finally(() => {
      isDropping = false
    })
  }
}

/**
 * Never resolves if the connection ends: postgres.js would write a commit or a rollback to a socket that is gone, which ends the
 * process, or to the next session.
 */
async function expireIfReadOnly(transaction: PostgresSql): Promise<void> {
  let isEnding: boolean
  try {
    isEnding = (await transaction.unsafe(EXPIRE_IF_READ_ONLY).raw()).length > 0
  } catch (error) {
    if (!lostResponse(error)) throw error
    isEnding = true
  }
  if (isEnding) await new Promise(() => {})
}
