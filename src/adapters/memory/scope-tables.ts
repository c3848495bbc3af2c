import type { ListScopesQuery } from '../../core/store/driver.js'
import {
  OBJECT_STATUSES,
  type ObjectStatus,
  type ScopeUsage,
  type StorageObject,
} from '../../core/store/records.js'
import { NO_USAGE } from '../../core/store/lifecycle/usage.js'
import { namesWithin, startOfName } from './name-order.js'
import { datePosition, SortedMap } from './sorted-map.js'

export type RowsByStatus = Readonly<Record<ObjectStatus, SortedMap<StorageObject>>>

function emptyRows(): RowsByStatus {
  return { pending: new SortedMap(), active: new SortedMap(), deleted: new SortedMap() }
}

function isEmpty(rows: RowsByStatus): boolean {
  return OBJECT_STATUSES.every((status) => rows[status].size === 0)
}

/**
 * Rows by date: reservations by expiry, arrived attempts by the end of the time for their check, temporary objects by their end, and
 * history by deletion.
 */
export class DatedRows {
  readonly expiring = new SortedMap<StorageObject>()
  readonly arrived = new SortedMap<StorageObject>()
  readonly temporary = new SortedMap<StorageObject>()
  readonly deleted = new SortedMap<StorageObject>()

  add(row: StorageObject): void {
    const place = this.#placeOf(row)
    if (place) place.rows.set(datePosition(place.date, row.id), row)
  }

  delete(row: StorageObject): void {
    const place = this.#placeOf(row)
    if (place) place.rows.delete(datePosition(place.date, row.id))
  }

  /** Returns the list that a row is in, and its date there. */
  #placeOf(row: StorageObject): { readonly rows: SortedMap<StorageObject>; readonly date: Date } | null {
    const { expiresAt, arrivedAt, temporaryUntil, deletedAt } = row
    if (expiresAt) return { rows: arrivedAt ? this.arrived : this.expiring, date: expiresAt }
    if (temporaryUntil) return { rows: this.temporary, date: temporaryUntil }
    return deletedAt && { rows: this.deleted, date: deletedAt }
  }
}

export class ScopeTable {
  readonly rows = emptyRows()
  readonly routes = new Map<string, RowsByStatus>()
  readonly dated = new DatedRows()
  usage: ScopeUsage = NO_USAGE

  constructor(readonly scope: string) {}

  add(row: StorageObject): void {
    this.rows[row.status].set(row.id, row)
    this.dated.add(row)
    if (row.route === null) return
    const rows = this.routes.get(row.route) ?? emptyRows()
    rows[row.status].set(row.id, row)
    this.routes.set(row.route, rows)
  }

  delete(row: StorageObject): void {
    this.rows[row.status].delete(row.id)
    this.dated.delete(row)
    const ofRoute = row.route === null ? undefined : this.routes.get(row.route)
    ofRoute?.[row.status].delete(row.id)
    if (ofRoute && isEmpty(ofRoute)) this.routes.delete(row.route!)
  }
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

  page(query: ListScopesQuery): ScopeTable[] {
    const { from, upTo } = namesWithin(query)
    return this.#inOrder.ascending(from, upTo, query.limit)
  }

  /** Returns the table of a scope, which is created if necessary. */
  open(scope: string): ScopeTable {
    const known = this.#byScope.get(scope)
    if (known) return known
    const table = new ScopeTable(scope)
    this.#byScope.set(scope, table)
    this.#inOrder.set(startOfName(scope), table)
    return table
  }

  /** Drops the table of a scope without rows. Its usage is zero, and keeping the table would leak memory. */
  dropIfEmpty(scope: string): void {
    const table = this.#byScope.get(scope)
    if (!table || !isEmpty(table.rows)) return
    this.#byScope.delete(scope)
    this.#inOrder.delete(startOfName(scope))
  }
}
