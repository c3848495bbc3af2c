import { keyId } from '../../core/names.js'
import {
  type KeyChange,
  type LiveRows,
  NOTHING_LIVE,
  scopeOf,
  type TrackedRow,
  usageOf,
} from '../../core/store/lifecycle/change.js'
import { NO_USAGE, sameUsage, usageAfter, usageOfKey } from '../../core/store/lifecycle/usage.js'
import type { ListScopesQuery } from '../../core/store/driver.js'
import type { ObjectReference, ScopeUsage, StorageObject, UsageDifference } from '../../core/store/records.js'
import { EventTable } from './event-table.js'
import { LeftoverTable } from './leftover-table.js'
import { RejectionTable } from './rejection-table.js'
import { DatedRows, type RowsByStatus, type ScopeTable, ScopeTables } from './scope-tables.js'
import { SortedMap } from './sorted-map.js'
import { StoredNames } from './stored-names.js'

/** The rows, with an index for every read. No method awaits, so every change is atomic. */
export class Tables {
  readonly #live = new Map<string, LiveRows>()
  readonly #history = new Map<string, SortedMap<StorageObject>>()
  readonly #scopes = new ScopeTables()
  readonly #dated = new DatedRows()
  readonly ids = new RowsById()
  readonly rejections = new RejectionTable()
  readonly names = new StoredNames()
  readonly leftovers = new LeftoverTable(this.names)
  readonly events: EventTable

  constructor({ events = false }: { readonly events?: boolean } = {}) {
    this.events = new EventTable(events)
  }

  liveRows(reference: ObjectReference): LiveRows {
    return this.#live.get(keyId(reference)) ?? NOTHING_LIVE
  }

  newestDeleted(reference: ObjectReference): StorageObject | null {
    return this.#history.get(keyId(reference))?.descending(null, 1)[0] ?? null
  }

  usage(scope: string): ScopeUsage {
    return this.#scopes.get(scope)?.usage ?? NO_USAGE
  }

  /** Returns a page of the scopes with rows, in byte order. */
  scopes(query: ListScopesQuery): readonly ScopeTable[] {
    return this.#scopes.page(query)
  }

  /** Returns the rows of a scope by status, or only those of a route; `null` if there are none. */
  rows(scope: string, route: string | null): RowsByStatus | null {
    const table = this.#scopes.get(scope)
    return (route === null ? table?.rows : table?.routes.get(route)) ?? null
  }

  /** Returns the rows by date, of a scope or of all (`null`). */
  dated(scope: string | null): DatedRows | null {
    return scope === null ? this.#dated : (this.#scopes.get(scope)?.dated ?? null)
  }

  apply({ before, after, history, leftovers, rejection, row }: Omit<KeyChange, 'outcome'>): void {
    this.#replaceRow(before.active, after.active)
    this.#replaceRow(before.pending, after.pending)
    if (after.active ?? after.pending) this.#live.set(keyId(row), after)
    else this.#live.delete(keyId(row))
    this.#chargeUsage(scopeOf(before), usageOf(before), NO_USAGE)
    this.#chargeUsage(scopeOf(after), NO_USAGE, usageOf(after))
    if (history) this.addHistory(history)
    for (const leftover of leftovers) this.leftovers.set(leftover)
    if (rejection) this.rejections.set(rejection)
    for (const scope of [scopeOf(before), scopeOf(after)]) if (scope !== null) this.#scopes.dropIfEmpty(scope)
  }

  addHistory(row: StorageObject): void {
    this.#index(row)
    const history = this.#history.get(keyId(row)) ?? new SortedMap()
    history.set(row.id, row)
    this.#history.set(keyId(row), history)
  }

  dropHistory(row: StorageObject): void {
    this.#unindex(row)
    const history = this.#history.get(keyId(row))
    history?.delete(row.id)
    if (history?.size === 0) this.#history.delete(keyId(row))
    this.#scopes.dropIfEmpty(row.scope)
  }

  /** Adds up the rows. Returns the scopes whose recorded usage differs, and corrects it if asked to. */
  recount(scope: string | null, correct: boolean): UsageDifference[] {
    const differences: UsageDifference[] = []
    for (const table of this.#scopes.of(scope)) {
      let actual = NO_USAGE
      for (const row of table.rows.active.ascending(null, null, Infinity)) {
        actual = usageAfter(actual, NO_USAGE, usageOfKey(row, this.liveRows(row).pending))
      }
      for (const row of table.rows.pending.ascending(null, null, Infinity)) {
        if (!this.liveRows(row).active) actual = usageAfter(actual, NO_USAGE, usageOfKey(null, row))
      }
      if (sameUsage(actual, table.usage)) continue
      differences.push({ scope: table.scope, recorded: { ...table.usage }, actual: { ...actual } })
      if (correct) table.usage = actual
    }
    return differences
  }

  #replaceRow(before: TrackedRow | null, after: TrackedRow | null): void {
    if (before === after) return
    if (before) this.#unindex(before)
    if (after) this.#index(after)
  }

  #chargeUsage(scope: string | null, removed: ScopeUsage, added: ScopeUsage): void {
    if (scope === null) return
    const table = this.#scopes.open(scope)
    table.usage = usageAfter(table.usage, removed, added)
  }

  #index(row: StorageObject): void {
    this.#scopes.open(row.scope).add(row)
    this.#dated.add(row)
    this.ids.add(row)
    if (row.status !== 'deleted') this.names.add(row)
  }

  #unindex(row: StorageObject): void {
    this.#scopes.open(row.scope).delete(row)
    this.#dated.delete(row)
    this.ids.delete(row)
    if (row.status !== 'deleted') this.names.delete(row)
  }
}

/** Rows by a name. Callers of `reserve` may pass an id that another key or the history uses already. */
class NamedRows {
  readonly #rows = new Map<string, StorageObject[]>()

  get(name: string): readonly StorageObject[] {
    return this.#rows.get(name) ?? []
  }

  add(name: string, row: StorageObject): void {
    const rows = this.#rows.get(name)
    if (rows) rows.push(row)
    else this.#rows.set(name, [row])
  }

  delete(name: string, row: StorageObject): void {
    const rows = this.#rows.get(name)
    const index = rows?.indexOf(row) ?? -1
    if (!rows || index === -1) return
    rows.splice(index, 1)
    if (rows.length === 0) this.#rows.delete(name)
  }
}

/** Returns whether the present version of an object comes from another attempt than the first. */
const isReplacement = ({ status, id, attemptId }: StorageObject) => status === 'active' && attemptId !== id

/** The rows by id, and active ones by that of their attempt. */
class RowsById {
  readonly #rows = new NamedRows()
  readonly #replacements = new NamedRows()

  add(row: StorageObject): void {
    this.#rows.add(row.id, row)
    if (isReplacement(row)) this.#replacements.add(row.attemptId, row)
  }

  delete(row: StorageObject): void {
    this.#rows.delete(row.id, row)
    if (isReplacement(row)) this.#replacements.delete(row.attemptId, row)
  }

  /** Returns the rows with this id, and the active ones whose attempt has it. */
  named(id: string): readonly StorageObject[] {
    return [...this.#rows.get(id), ...this.#replacements.get(id)]
  }

  /** Returns the row with this id, of a scope or of any (`null`), live before deleted. */
  find(id: string, scope: string | null): StorageObject | null {
    const rows = this.#rows.get(id).filter((row) => scope === null || row.scope === scope)
    return rows.find(({ status }) => status !== 'deleted') ?? rows[0] ?? null
  }

  /** Returns the deleted rows with this id up to a date, of a scope or of any (`null`), the earliest deletion first. */
  deleted(id: string, scope: string | null, before: Date): StorageObject[] {
    const isWanted = (row: StorageObject) =>
      row.deletedAt !== null && row.deletedAt <= before && (scope === null || row.scope === scope)
    const rows = this.#rows.get(id).filter(isWanted)
    return rows.sort((a, b) => a.deletedAt!.getTime() - b.deletedAt!.getTime())
  }
}
