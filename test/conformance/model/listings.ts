import type { FindByIdInput, ListScopesInput, ListStoredInput } from '../../../src/core/store/contract.js'
import type { Leftover, ScopeSummary, StorageObject, StoredItem } from '../../../src/core/store/records.js'
import { badFields } from '../input-checks.js'
import type { Expected } from '../outcome.js'
import { invalid, ok } from '../outcome.js'
import { EventModel } from './events.js'
import type { ModelRow } from './rows.js'
import { DEFAULT_LIMIT, compareBytes, isForeign, nameOf, recordOf, recordOrNull } from './rows.js'
import { usageOf } from './usage.js'

/** Reads that name no key. */
export class ListingModel extends EventModel {
  findById(input: FindByIdInput): Expected<StorageObject | null> {
    const bad = badFields('findById', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const found = this.rows.filter((row) => row.id === input.id)
    const row = found.find(({ status }) => status !== 'deleted') ?? found[0]
    return recordOrNull(isForeign(row, input.scope) ? null : row)
  }

  /** Leaves out scopes without rows, as a store may. */
  listScopes(input?: ListScopesInput): Expected<ScopeSummary[]> {
    const bad = badFields('listScopes', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const { after, prefix = '' } = input ?? {}
    const scopes = [...new Set(this.rows.map(({ scope }) => scope))]
      .filter((scope) => scope.startsWith(prefix))
      .filter((scope) => after == null || compareBytes(scope, after) > 0)
      .sort(compareBytes)
    return ok(scopes.slice(0, input?.limit ?? DEFAULT_LIMIT).map((scope) => this.#summary(scope)))
  }

  listStored(input: ListStoredInput): Expected<StoredItem[]> {
    const bad = badFields('listStored', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const { bucket, prefix, after, limit, withMetadata } = input
    const rows = this.rows
      .filter((row) => row.bucket === bucket && row.status !== 'deleted')
      .map((row) => itemOfRow(withMetadata === false ? { ...row, metadata: null } : row))
    const leftovers = this.leftovers.filter((each) => each.bucket === bucket).map(itemOfLeftover)
    const found = [...rows, ...leftovers]
      .filter(({ storageKey }) => prefix == null || storageKey.startsWith(prefix))
      .filter(({ storageKey }) => after == null || compareBytes(storageKey, after) > 0)
      .sort(
        (a, b) =>
          compareBytes(a.storageKey, b.storageKey) || this.#chosenPosition(a) - this.#chosenPosition(b),
      )
    const last = found[(limit ?? DEFAULT_LIMIT) - 1]
    return ok(last ? found.filter((item) => compareBytes(item.storageKey, last.storageKey) <= 0) : found)
  }

  #summary(scope: string): ScopeSummary {
    const count = (status: StorageObject['status']) =>
      this.rows.filter((row) => row.scope === scope && row.status === status).length
    const counts = { active: count('active'), pending: count('pending'), deleted: count('deleted') }
    return { scope, usage: usageOf(this.rows, scope), counts }
  }

  /** Returns where the store listed the item, because the order of items with one name is not specified. */
  #chosenPosition(item: StoredItem): number {
    const chosen = Array.isArray(this.chosen) ? (this.chosen as readonly StoredItem[]) : []
    return chosen.findIndex((other) => identityOf(other) === identityOf(item))
  }
}

function itemOfRow(row: ModelRow): StoredItem {
  return { storageKey: nameOf(row), object: recordOf(row) }
}

function itemOfLeftover(leftover: Leftover): StoredItem {
  return { storageKey: nameOf(leftover), leftover }
}

/** An attempt may have a live row or a leftover, never both. */
function identityOf({ object, leftover }: StoredItem): string | undefined {
  return object?.attemptId ?? leftover?.attemptId
}
