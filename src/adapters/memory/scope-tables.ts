import { utf8Order } from '../../core/names.js'
import { OBJECT_STATUSES } from '../../core/store/records.js'
import type { ObjectStatus, ScopeUsage, StorageObject } from '../../core/store/records.js'
import { NO_USAGE } from '../../core/store/lifecycle/usage.js'
import { datePosition, SortedMap } from './sorted-map.js'

export type RowsByStatus = Readonly<Record<ObjectStatus, SortedMap<StorageObject>>>

/** The data of one scope: rows by status, the same rows by route, rows that may expire, history by deletion, and the usage. */
export interface ScopeTable {
  readonly scope: string
  readonly rows: RowsByStatus
  readonly routes: Map<string, RowsByStatus>
  readonly expiring: SortedMap<StorageObject>
  readonly deleted: SortedMap<StorageObject>
  usage: ScopeUsage
}

function emptyRows(): RowsByStatus {
  return { pending: new SortedMap(), active: new SortedMap(), deleted: new SortedMap() }
}

function isEmpty(rows: RowsByStatus): boolean {
  return OBJECT_STATUSES.every((status) => rows[status].size === 0)
}

/** The tables of the scopes, by name and in byte order. */
export class ScopeTables {
  readonly #byScope = new Map<string, ScopeTable>()
  readonly #inOrder = new SortedMap<ScopeTable>()

  /** Returns the table of a scope, or all of them for `null`. */
  of(scope: string | null): readonly ScopeTable[] {
    if (scope === null) return [...this.#byScope.values()]
    const table = this.#byScope.get(scope)
    return table ? [table] : []
  }

  get(scope: string): ScopeTable | null {
    return this.#byScope.get(scope) ?? null
  }

  /** Returns up to `limit` tables of the scopes after `after`, in byte order. */
  page(after: string | null, limit: number): ScopeTable[] {
    return this.#inOrder.ascending(after === null ? null : utf8Order(after), null, limit)
  }

  /** Returns the table of a scope, which is created if necessary. */
  open(scope: string): ScopeTable {
    let table = this.#byScope.get(scope)
    if (!table) {
      table = {
        scope,
        rows: emptyRows(),
        routes: new Map(),
        expiring: new SortedMap(),
        deleted: new SortedMap(),
        usage: NO_USAGE,
      }
      this.#byScope.set(scope, table)
      this.#inOrder.set(utf8Order(scope), table)
    }
    return table
  }

  add(row: StorageObject): void {
    const table = this.open(row.scope)
    table.rows[row.status].set(row.id, row)
    if (row.route !== null) {
      const rows = table.routes.get(row.route) ?? emptyRows()
      rows[row.status].set(row.id, row)
      table.routes.set(row.route, rows)
    }
    if (row.expiresAt) table.expiring.set(datePosition(row.expiresAt, row.id), row)
    if (row.deletedAt) table.deleted.set(datePosition(row.deletedAt, row.id), row)
  }

  delete(row: StorageObject): void {
    const table = this.open(row.scope)
    table.rows[row.status].delete(row.id)
    const ofRoute = row.route === null ? undefined : table.routes.get(row.route)
    ofRoute?.[row.status].delete(row.id)
    if (row.route !== null && ofRoute && isEmpty(ofRoute)) table.routes.delete(row.route)
    if (row.expiresAt) table.expiring.delete(datePosition(row.expiresAt, row.id))
    if (row.deletedAt) table.deleted.delete(datePosition(row.deletedAt, row.id))
  }

  /** Drops the table of a scope without rows. Its usage is zero, and keeping the table would leak memory. */
  dropIfEmpty(scope: string): void {
    const table = this.#byScope.get(scope)
    if (!table || !isEmpty(table.rows)) return
    this.#byScope.delete(scope)
    this.#inOrder.delete(utf8Order(scope))
  }
}
