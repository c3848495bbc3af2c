import {
  NOTHING_LIVE,
  scopeOf,
  usageOf,
  type KeyChange,
  type LiveRows,
  type TrackedRow,
} from '../../core/store/lifecycle.js'
import { OBJECT_STATUSES } from '../../core/store/records.js'
import type {
  ObjectReference,
  ObjectStatus,
  ScopeUsage,
  StorageObject,
  UsageDifference,
} from '../../core/store/records.js'
import { NO_USAGE, sameUsage, usageAfter, usageOfKey } from '../../core/store/usage.js'
import { datePosition } from './date-position.js'
import { LeftoverTable } from './leftover-table.js'
import { SortedMap } from './sorted-map.js'

type RowsByStatus = Readonly<Record<ObjectStatus, SortedMap<StorageObject>>>

/** The data of one scope: rows by status, the same rows by route, rows that may expire, history by deletion, and the usage. */
interface ScopeTable {
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

/** Returns a unique name of a key. Buckets and keys contain no NUL. */
function keyName({ bucket, key }: ObjectReference): string {
  return `${bucket}\0${key}`
}

/** The rows, with an index for every read. No method awaits, so every change is atomic. */
export class Tables {
  readonly #live = new Map<string, LiveRows>()
  readonly #history = new Map<string, SortedMap<StorageObject>>()
  readonly #scopes = new Map<string, ScopeTable>()
  readonly #expiring = new SortedMap<StorageObject>()
  readonly #deleted = new SortedMap<StorageObject>()
  readonly leftovers = new LeftoverTable()

  liveRows(reference: ObjectReference): LiveRows {
    return this.#live.get(keyName(reference)) ?? NOTHING_LIVE
  }

  newestDeleted(reference: ObjectReference): StorageObject | null {
    return this.#history.get(keyName(reference))?.descending(null, 1)[0] ?? null
  }

  usage(scope: string): ScopeUsage {
    return this.#scopes.get(scope)?.usage ?? NO_USAGE
  }

  /** Returns the rows of a scope by status, or only those of a route; `null` if there are none. */
  rows(scope: string, route: string | null): RowsByStatus | null {
    const table = this.#scopes.get(scope)
    return (route === null ? table?.rows : table?.routes.get(route)) ?? null
  }

  /** Returns the rows that may expire, of a scope or of all (`null`), by expiry. */
  expiring(scope: string | null): SortedMap<StorageObject> | null {
    return scope === null ? this.#expiring : (this.#scopes.get(scope)?.expiring ?? null)
  }

  /** Returns the history of a scope or of all (`null`), by deletion. */
  deleted(scope: string | null): SortedMap<StorageObject> | null {
    return scope === null ? this.#deleted : (this.#scopes.get(scope)?.deleted ?? null)
  }

  /** Applies a change. Returns the scopes it touched. */
  apply({ before, after, history, leftovers, row }: Omit<KeyChange, 'outcome'>): string[] {
    this.#replaceRow(before.active, after.active)
    this.#replaceRow(before.pending, after.pending)
    if (after.active ?? after.pending) this.#live.set(keyName(row), after)
    else this.#live.delete(keyName(row))
    this.#chargeUsage(scopeOf(before), usageOf(before), NO_USAGE)
    this.#chargeUsage(scopeOf(after), NO_USAGE, usageOf(after))
    if (history) this.addHistory(history)
    for (const leftover of leftovers) this.leftovers.set(leftover)

    const touched = new Set([scopeOf(before), scopeOf(after)].filter((scope) => scope !== null))
    for (const scope of touched) this.#dropIfEmpty(scope)
    return [...touched]
  }

  addHistory(row: StorageObject): void {
    this.#index(row)
    const history = this.#history.get(keyName(row)) ?? new SortedMap()
    history.set(row.id, row)
    this.#history.set(keyName(row), history)
  }

  dropHistory(row: StorageObject): void {
    this.#unindex(row)
    const history = this.#history.get(keyName(row))
    history?.delete(row.id)
    if (history?.size === 0) this.#history.delete(keyName(row))
    this.#dropIfEmpty(row.scope)
  }

  /** Adds up the rows. Returns the scopes whose recorded usage differs, and corrects it if asked to. */
  recount(scope: string | null, correct: boolean): UsageDifference[] {
    const differences: UsageDifference[] = []
    for (const [name, table] of this.#scopes) {
      if (scope !== null && scope !== name) continue
      let actual = NO_USAGE
      for (const row of table.rows.active.ascending(null, null, Infinity)) {
        actual = usageAfter(actual, NO_USAGE, usageOfKey(row, this.liveRows(row).pending))
      }
      for (const row of table.rows.pending.ascending(null, null, Infinity)) {
        if (!this.liveRows(row).active) actual = usageAfter(actual, NO_USAGE, usageOfKey(null, row))
      }
      if (sameUsage(actual, table.usage)) continue
      differences.push({ scope: name, recorded: { ...table.usage }, actual: { ...actual } })
      if (correct) table.usage = actual
    }
    return differences
  }

  #replaceRow(before: TrackedRow | null, after: TrackedRow | null): void {
    if (before === after) return
    if (before) this.#unindex(before)
    if (after) this.#index(after)
  }

  #table(scope: string): ScopeTable {
    let table = this.#scopes.get(scope)
    if (!table) {
      table = {
        rows: emptyRows(),
        routes: new Map(),
        expiring: new SortedMap(),
        deleted: new SortedMap(),
        usage: NO_USAGE,
      }
      this.#scopes.set(scope, table)
    }
    return table
  }

  #chargeUsage(scope: string | null, removed: ScopeUsage, added: ScopeUsage): void {
    if (scope === null) return
    const table = this.#table(scope)
    table.usage = usageAfter(table.usage, removed, added)
  }

  #index(row: StorageObject): void {
    const table = this.#table(row.scope)
    table.rows[row.status].set(row.id, row)
    if (row.route !== null) {
      const rows = table.routes.get(row.route) ?? emptyRows()
      rows[row.status].set(row.id, row)
      table.routes.set(row.route, rows)
    }
    if (row.expiresAt) {
      table.expiring.set(datePosition(row.expiresAt, row.id), row)
      this.#expiring.set(datePosition(row.expiresAt, row.id), row)
    }
    if (row.deletedAt) {
      table.deleted.set(datePosition(row.deletedAt, row.id), row)
      this.#deleted.set(datePosition(row.deletedAt, row.id), row)
    }
  }

  #unindex(row: StorageObject): void {
    const table = this.#table(row.scope)
    table.rows[row.status].delete(row.id)
    const ofRoute = row.route === null ? undefined : table.routes.get(row.route)
    ofRoute?.[row.status].delete(row.id)
    if (row.route !== null && ofRoute && isEmpty(ofRoute)) table.routes.delete(row.route)
    if (row.expiresAt) {
      table.expiring.delete(datePosition(row.expiresAt, row.id))
      this.#expiring.delete(datePosition(row.expiresAt, row.id))
    }
    if (row.deletedAt) {
      table.deleted.delete(datePosition(row.deletedAt, row.id))
      this.#deleted.delete(datePosition(row.deletedAt, row.id))
    }
  }

  /** Drops the table of a scope without rows. Its usage is zero, and keeping the table would leak memory. */
  #dropIfEmpty(scope: string): void {
    const table = this.#scopes.get(scope)
    if (table && isEmpty(table.rows)) this.#scopes.delete(scope)
  }
}
