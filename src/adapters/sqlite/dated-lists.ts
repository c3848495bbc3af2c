import type { Connection } from './connection/connection.js'
import type { Cells } from './connection/statement.js'
import { NEVER } from './rows.js'

interface Order {
  readonly columns: string
  readonly table: string
  readonly date: string
  readonly id: string
  /** The condition of the indexes. Default: none. */
  readonly condition?: string
  /** The end of their names. Default: the date. */
  readonly index?: string
}

export interface DatedPage {
  readonly scope: string | null
  readonly limit: number
  /** The position after which the page begins. */
  readonly afterDate?: Date | null | undefined
  readonly afterId?: string | undefined
  /** Inclusive. Default: no end. */
  readonly until?: Date | undefined
}

/** Returns a function that lists by a date and an id. The table has an index for the list of all scopes, and one within each. */
export function dateOrdered(connection: Connection, order: Order): (page: DatedPage) => Cells[] {
  const { columns, table, date, id, condition, index: named = date } = order
  const where = condition === undefined ? '' : `${condition} AND`
  const list = (index: string, ofScope: string) =>
    // INDEXED BY keeps the plan, whatever the statistics say.
    connection.statement(
      `SELECT ${columns} FROM {${table}} INDEXED BY {${table}_${index}}
      WHERE ${where} ${ofScope} (${date}, ${id}) > (:afterDate, :afterId) AND ${date} <= :until
      ORDER BY ${date}, ${id} LIMIT :limit`,
    )
  const ofAll = list(named, '')
  const ofScope = list(`scope_${named}`, 'scope = :scope AND')
  return ({ scope, limit, afterDate, afterId = '', until }) =>
    (scope === null ? ofAll : ofScope).rows({
      ...{ scope, limit, afterId, afterDate: afterDate ?? NEVER, until: until ?? Number.MAX_SAFE_INTEGER },
    })
}
