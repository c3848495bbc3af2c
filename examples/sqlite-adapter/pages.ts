import type { Connection } from './connection.ts'
import { NEVER } from './values.ts'

type Order = Readonly<Record<'columns' | 'table' | 'date' | 'id', string>>

interface Page {
  readonly scope: string | null
  readonly limit: number
  readonly after?: readonly [date: Date | null | undefined, id: string | undefined]
  readonly until?: Date
}

/** Lists by a date and an id. The tables have an index for each such list, over all scopes and within one. */
export function pageByDate<Row>(
  connection: Connection,
  { columns, table, date, id }: Order,
  page: Page,
): Row[] {
  const { scope, limit, after = [], until = Number.MAX_SAFE_INTEGER } = page
  const [index, ofScope] = scope === null ? [date, ''] : [`${date}_of_scope`, 'scope = :scope AND']
  return connection.all(
    // INDEXED BY keeps the plan, whatever the statistics say.
    `SELECT ${columns} FROM ${table} INDEXED BY ${table}_${index}
    WHERE ${ofScope} (${date}, ${id}) > (:afterDate, :afterId) AND ${date} <= :until ORDER BY ${date}, ${id} LIMIT :limit`,
    { scope, limit, afterDate: after[0] ?? NEVER, afterId: after[1] ?? '', until },
  )
}
