import type { StorageObject } from '../../core/store/records.js'

/**
 * The rows by id. Ids are unique, but nothing here enforces it: a caller of `reserve` may pass an id that another key or
 * the history uses already.
 */
export class RowsById {
  readonly #rows = new Map<string, StorageObject[]>()

  add(row: StorageObject): void {
    const rows = this.#rows.get(row.id)
    if (rows) rows.push(row)
    else this.#rows.set(row.id, [row])
  }

  delete(row: StorageObject): void {
    const rows = this.#rows.get(row.id)
    const index = rows?.indexOf(row) ?? -1
    if (!rows || index === -1) return
    rows.splice(index, 1)
    if (rows.length === 0) this.#rows.delete(row.id)
  }

  /** Returns the row with this id, of a scope or of any (`null`), live before deleted. */
  find(id: string, scope: string | null): StorageObject | null {
    const rows = this.#rows.get(id)?.filter((row) => scope === null || row.scope === scope) ?? []
    return rows.find(({ status }) => status !== 'deleted') ?? rows[0] ?? null
  }
}
