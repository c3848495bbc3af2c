import type { ObjectPage, ScopeUsage, StorageObject } from '../../../src/core/store/records.js'
import type {
  FindInput,
  FindPendingInput,
  FindPendingMultipartInput,
  ListByScopeInput,
} from '../../../src/core/store/contract.js'
import { badFields } from '../input-checks.js'
import type { Expected } from '../outcome.js'
import { invalid, ok } from '../outcome.js'
import type { ModelRow } from './rows.js'
import {
  DEFAULT_LIMIT,
  compare,
  isAttempt,
  isForeign,
  isListed,
  isUpload,
  recordOf,
  recordOrNull,
} from './rows.js'
import { ModelState } from './state.js'
import { usageOf } from './usage.js'

export class ReadModel extends ModelState {
  /** The cursors that the store returned, and the id of the last row before each. */
  protected cursors = new Map<string, string>()

  learnCursor(cursor: string, lastId: string): void {
    this.cursors.set(cursor, lastId)
  }

  listByScope(input: ListByScopeInput): Expected<ObjectPage> {
    const bad = badFields('listByScope', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const position = input.cursor == null ? null : this.cursors.get(input.cursor)
    if (position === undefined) return { error: 'INVALID_CURSOR' }
    const limit = input.limit ?? DEFAULT_LIMIT
    const found = this.rows
      .filter((row) => row.scope === input.scope && isListed(row, input.status))
      .filter((row) => input.route == null || row.route === input.route)
      .filter((row) => position === null || row.id < position)
      .sort((a, b) => compare(b.id, a.id))
    const withoutMetadata = (row: StorageObject) =>
      input.withMetadata === false ? { ...row, metadata: null } : row
    const objects = found.slice(0, limit).map(recordOf).map(withoutMetadata)
    return ok(found.length > limit ? { objects, nextCursor: 'another page' } : { objects })
  }

  countByScope(scope: string, status?: StorageObject['status'] | null): Expected<number> {
    const bad = badFields('countByScope', { scope, status }, this.now())
    if (bad.length > 0) return invalid(...bad)
    return ok(this.rows.filter((row) => row.scope === scope && isListed(row, status)).length)
  }

  getScopeUsage(scope: string): Expected<ScopeUsage> {
    const bad = badFields('getScopeUsage', { scope }, this.now())
    return bad.length > 0 ? invalid(...bad) : ok(usageOf(this.rows, scope))
  }

  find(input: FindInput): Expected<StorageObject | null> {
    const bad = badFields('find', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const deleted = this.at(input, 'deleted').sort((a, b) => compare(b.id, a.id))
    return ownOrNull(this.active(input) ?? this.pending(input) ?? deleted[0], input.scope)
  }

  findActive(input: FindInput): Expected<StorageObject | null> {
    const bad = badFields('findActive', input, this.now())
    return bad.length > 0 ? invalid(...bad) : ownOrNull(this.active(input), input.scope)
  }

  findPending(input: FindPendingInput): Expected<StorageObject | null> {
    const bad = badFields('findPending', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const pending = this.pending(input)
    const isNamed = pending && isAttempt(pending, input.id) && isUpload(pending, input.uploadId)
    return ownOrNull(isNamed ? pending : undefined, input.scope)
  }

  findPendingMultipart(input: FindPendingMultipartInput): Expected<StorageObject | null> {
    const bad = badFields('findPendingMultipart', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const pending = this.pending(input)
    const fits = pending && pending.uploadId !== null && pending.declaredSize === input.fileSize
    return recordOrNull(fits && !this.hasExpired(pending) ? pending : null)
  }
}

function ownOrNull(
  row: ModelRow | undefined,
  scope: string | null | undefined,
): Expected<StorageObject | null> {
  return recordOrNull(isForeign(row, scope) ? null : row)
}
