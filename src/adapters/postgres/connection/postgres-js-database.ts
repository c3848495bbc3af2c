import { isBuiltIn } from '../../../core/realms.js'
import { isInFailedTransaction, isReadOnly, lostResponse } from './failures.js'
import { createReadOnlyDrop } from './read-only-connections.js'
import type { Database, PostgresSql, TextRow } from './database.js'

/** OID of the type `unknown`: Postgres infers the type, as for a parameter of `pg`. */
const UNKNOWN = 705

/** What an instance has in addition to {@link PostgresSql}. The `sql` of `begin` and `reserve` has only one of these. */
interface Marks {
  readonly options?: {
    readonly max?: number
    readonly transform?: { readonly row?: { readonly from?: unknown } }
  }
  readonly savepoint?: unknown
  readonly release?: unknown
}

/** Returns why the adapter can't use this instance, or `null` if it can. */
export function flawOf(sql: PostgresSql): string | null {
  // Unlike the other transforms, it also changes rows that were requested as bytes.
  return typeof (sql as Marks).options?.transform?.row?.from === 'function' ? ROW_TRANSFORM : null
}

const ROW_TRANSFORM =
  'transform.row of the postgres instance changes the rows of the adapter. Pass an instance without it.'

/**
 * Adapts an instance of postgres.js, or the `sql` of its `begin` or `reserve`. With `named`, each connection prepares a
 * statement once, unless the instance has `prepare: false`.
 *
 * Types and transforms of the instance must have no effect. So parameters have the type `unknown`, for which no
 * instance has a serializer, and rows are bytes.
 */
export function postgresJsDatabase(sql: PostgresSql, { named }: { readonly named: boolean }): Database {
  const dropReadOnly = createReadOnlyDrop(sql)
  let running = 0
  const database: Database = {
    async run({ text }, values) {
      const texts = values.map((value) => (value === null ? null : String(value)))
      const parameters = texts.map((text) => sql.typed(text, UNKNOWN)) as never[]
      running++
      try {
        return readRows(await sql.unsafe(text, parameters, { prepare: named }).raw())
      } catch (error) {
        if (isReadOnly(error)) dropReadOnly()
        throw error
      } finally {
        running--
      }
    },

    async script(...statements) {
      // Without values it uses the simple protocol, in which Postgres runs all statements in one transaction.
      const result = await sql.unsafe(statements.join(';\n')).raw()
      // Several results are a plain array. A single one is an array of rows with additional properties.
      return readRows('command' in result ? result : ((result.at(-1) ?? []) as unknown[]))
    },
  }
  const { savepoint, release } = sql as Marks
  const isPool = savepoint === undefined && release === undefined
  // An instance does not tell how many connections are in use, so this counts those that the adapter uses.
  const spareConnections = () => ((sql as Marks).options?.max ?? Infinity) - running
  return isPool ? { ...database, isPool, spareConnections } : borrowed(database)
}

/**
 * Refuses statements after the connection was lost: postgres.js would run them outside the caller's transaction. In a
 * failed transaction, repeats the first error, which explains more.
 */
function borrowed(database: Database): Database {
  let failure: { readonly error: unknown } | null = null
  let isLost = false
  async function guarded<T>(run: () => Promise<T>): Promise<T> {
    if (isLost && failure) throw failure.error
    try {
      const result = await run()
      failure = null
      return result
    } catch (error) {
      if (failure && isInFailedTransaction(error)) throw failure.error
      failure = { error }
      isLost = lostResponse(error)
      throw error
    }
  }
  return {
    isBorrowed: true,
    run: (...call) => guarded(() => database.run(...call)),
    script: (...statements) => guarded(() => database.script(...statements)),
  }
}

function readRows(rows: readonly unknown[]): TextRow[] {
  // After a connection broke within a result, the next result begins with as many holes as rows had arrived.
  const present = rows.filter(() => true)
  return present.map((row) => {
    if (!Array.isArray(row)) throw new TypeError(ROW_TRANSFORM)
    return row.map((value: unknown) => {
      if (value === null) return null
      if (!isBuiltIn(value, 'Uint8Array')) throw new TypeError(ROW_TRANSFORM)
      return (value as { toString(encoding: 'utf8'): string }).toString('utf8')
    })
  })
}
