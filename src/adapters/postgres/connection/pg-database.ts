import { StorageError } from '../../../core/errors.js'
import type { Database, PostgresPool, PostgresQuery, PostgresResult, TextRow } from './database.js'
import { TIME_LIMIT } from './retries.js'

/** Keeps every value as text, which the adapter parses. The application's global parsers have no effect. */
const AS_TEXT = { getTypeParser: () => (value: string) => value }

/** What pools and clients have besides {@link PostgresPool}: their settings and, on a client, whether it is connected. */
interface Handle {
  readonly _connecting?: boolean
  readonly _connected?: boolean
  readonly options?: { readonly query_timeout?: number; readonly max?: number }
  readonly connectionParameters?: { readonly query_timeout?: number }
  readonly totalCount?: number
  readonly idleCount?: number
  readonly waitingCount?: number
}

/** Adapts a `pg` Pool or Client. With `named`, each connection prepares a statement once. */
export function pgDatabase(pool: PostgresPool, { named }: { readonly named: boolean }): Database {
  // Lets the pool replace a connection that doesn't respond, unless the application has set its own limit.
  const { options, connectionParameters } = pool as Handle
  const query_timeout = (options ?? connectionParameters)?.query_timeout || TIME_LIMIT
  const isClient = 'connectionParameters' in pool
  const send = (query: PostgresQuery) =>
    isClient ? inTurn(pool, () => pool.query(query)) : pool.query(query)
  return {
    isPool: !isClient && !('release' in pool),
    spareConnections: () => spareOf(pool as Handle),
    // Not `isBorrowed`: after a lost connection or a rollback, a client of pg refuses a repeat by itself.
    async run({ name, text }, values) {
      // Written out, because V8 takes 5 µs to spread the common fields: see `Counters` of bench/postgres.
      const query: PostgresQuery = {
        text,
        values: [...values],
        rowMode: 'array',
        types: AS_TEXT,
        query_timeout,
      }
      if (named) query.name = name
      checkConnected(pool)
      const { rows } = await send(query)
      return rows as TextRow[]
    },

    async script(...statements) {
      // Without parameters pg uses the simple protocol, in which Postgres runs all statements in one transaction.
      const query: PostgresQuery = { text: statements.join(';\n'), rowMode: 'array', types: AS_TEXT }
      const result: PostgresResult | PostgresResult[] = await send(query)
      const last = Array.isArray(result) ? (result as PostgresResult[]).at(-1) : result
      return (last?.rows ?? []) as TextRow[]
    },
  }
}

/** A pool has its counts. A client has none, nor may a wrapper of a pool. */
function spareOf(pool: Handle): number {
  const { options, totalCount = NaN, idleCount = NaN, waitingCount = NaN } = pool
  const spare = (options?.max ?? NaN) - totalCount + idleCount - waitingCount
  return Number.isNaN(spare) ? Infinity : spare
}

/** The last statement of each client. */
const lastStatements = new WeakMap<PostgresPool, Promise<unknown>>()

/** Sends a statement once the client has the result of the one before: pg 9 refuses more than one at a time. */
function inTurn<T>(client: PostgresPool, send: () => Promise<T>): Promise<T> {
  const before = lastStatements.get(client)
  const result = before ? before.then(send, send) : send()
  lastStatements.set(client, result)
  return result
}

/** @throws StorageError for a client without a connection, which would queue its queries for ever. */
function checkConnected(pool: PostgresPool): void {
  const { _connecting, _connected } = pool as Handle
  if (_connecting !== false || _connected !== false) return
  const message = '`pool` must be a client that is connected. Call `await client.connect()` before.'
  throw new StorageError('DATABASE_UNAVAILABLE', { message, retryable: false })
}
