/**
 * SQL about the names of bytes in the bucket: the `storage_key` of a row or leftover, or its `key` if it has none.
 *
 * An index of all names would cost every upload. Most names follow from other columns: the key, or the key with the
 * attempt id, as the server makes it. An index contains only the rest.
 */

/** Columns of an alias, or without one those of the table that an index is defined on. */
const columnOf = (row: string | null, column: string) => (row === null ? column : `${row}.${column}`)

/** Whether a live row has another name. With `null`, word for word as Postgres writes the condition of an index. */
export const hasOtherName = (row: string | null) => {
  const [key, storageKey] = [columnOf(row, 'key'), columnOf(row, 'storage_key')]
  return (
    `(${storageKey} <> ${key}) AND (${storageKey} <> ((${key} || '~'::text) || (${columnOf(row, 'attempt_id')})::text))` +
    ` AND (${columnOf(row, 'status')} <> 'deleted'::text)`
  )
}

export const hasUsualName = (row: string) =>
  `(${row}.status <> 'deleted' AND (${hasOtherName(row)}) IS NOT TRUE)`

export const nameOf = (row: string | null) =>
  `COALESCE(${columnOf(row, 'storage_key')}, ${columnOf(row, 'key')})`

export const attemptIdIn = (name: string) =>
  `CASE WHEN ${name} ~ '~[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN right(${name}, 36)::uuid END`
