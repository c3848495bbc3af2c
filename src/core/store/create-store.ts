import { encodeCursor, encodeEventCursor } from './cursor.js'
import { namesOf } from '../known-names.js'
import type { ConfirmInput, MigrateOptions, SettleEventInput, StorageObjectStore } from './contract.js'
import type { StoreDriver } from './driver.js'
import { checkDriver } from './driver-check.js'
import { readCommand, readQuery, type Fields, type ReadOf } from './inputs/fields.js'
import * as inputs from './inputs/index.js'
import { iterateByScope } from './iterate-by-scope.js'
import type { StorageObject } from './records.js'
import { keepError, refusalError } from './refusals.js'
import { unlessAborted } from '../on-abort.js'
import { OptionChecks } from '../option-checks.js'
import { reduced, rememberParts } from './store-parts.js'
import { checkText, optional } from './validation/checks.js'

export interface CreateStoreOptions {
  /** Returns the current time. Default: the system clock. */
  readonly now?: (() => Date) | null | undefined
}

const OPTIONS = namesOf<CreateStoreOptions>({ now: true })
const checks = new OptionChecks('createStore')
const MIGRATE_OPTIONS = namesOf<MigrateOptions>({ signal: true, onProgress: true })
const migrateChecks = new OptionChecks('migrate')

/**
 * Creates the public store of a driver. It validates and completes every input, creates ids, encodes and decodes cursors,
 * builds pages and turns refusals into errors, so all adapters accept and return the same.
 *
 * @throws TypeError if the driver lacks a method, or for an invalid option.
 *
 * @example
 * import { createStore, type StoreDriver } from '@svc/db/adapter'
 *
 * const open = (driver: StoreDriver) => createStore(driver, { now: () => new Date() })
 */
export function createStore(driver: StoreDriver, options?: CreateStoreOptions | null): StorageObjectStore {
  checkDriver(driver)
  const given = checks.optionalOptions(options, OPTIONS)
  const clock = checks.function('now', given.now) ?? (() => new Date())
  // A copy, because rows keep the Date, and a test may change the one its clock returns.
  const now = () => new Date(clock())

  const store: StorageObjectStore = {
    async listByScope(input) {
      const query = inputs.listQuery(input)
      const rows = await driver.list({ ...query, limit: query.limit + 1 })
      if (rows.length <= query.limit) return { objects: rows }
      const objects = rows.slice(0, query.limit)
      return { objects, nextCursor: encodeCursor(objects[query.limit - 1]!.id) }
    },

    iterateByScope: (input) => iterateByScope(driver, input),
    countByScope: async (scope, status) => driver.count(inputs.countQuery({ scope, status })),
    getScopeUsage: async (scope) => driver.usage(checkText('scope', scope)),

    find: (input) => findRow(inputs.FIND, input, (query) => driver.find(query)),
    findActive: (input) => findRow(inputs.FIND, input, (query) => driver.findActive(query)),
    findPending: (input) => findRow(inputs.FIND_PENDING, input, (query) => driver.findPending(query)),
    findPendingMultipart: async (input) =>
      driver.findPendingMultipart(readCommand(inputs.FIND_PENDING_MULTIPART, input, now())),
    findById: (input) => findRow(inputs.FIND_BY_ID, input, (query) => driver.findById(query)),
    listScopes: async (input) => driver.listScopes(inputs.listScopesQuery(input)),
    listStored: async (input) => driver.listStored(readQuery(inputs.LIST_STORED, input)),

    async reserve(input) {
      const result = await driver.reserve(inputs.reserveCommand(input, now()))
      if (result.outcome === 'reserved') return result.row
      throw refusalError(result, 'declaredSize')
    },

    confirm: reduced(
      async (input: ConfirmInput) => {
        const result = await driver.confirm(readCommand(inputs.CONFIRM, input, now()))
        if (result.outcome === 'confirmed') return result
        throw refusalError(result)
      },
      ({ row }) => row,
    ),

    async setUploadId(input) {
      const result = await driver.setUploadId(readCommand(inputs.SET_UPLOAD_ID, input, now()))
      if (result.outcome === 'set') return result.row
      throw refusalError(result)
    },

    release: async (input) => (await driver.release(readCommand(inputs.RELEASE, input, now()))).row,
    remove: async (input) => (await driver.remove(readCommand(inputs.REMOVE, input, now()))).row,

    async update(input) {
      const result = await driver.update(inputs.updateCommand(input, now()))
      if (result.outcome === 'updated') return result.row
      throw refusalError(result)
    },

    async transfer(input) {
      const result = await driver.transfer(readCommand(inputs.TRANSFER, input, now()))
      if (result.outcome === 'transferred') return result.row
      throw refusalError(result, 'to')
    },

    async adopt(input) {
      const result = await driver.adopt(inputs.adoptCommand(input, now()))
      if (result.outcome === 'adopted') return { object: result.row, known: false }
      if (result.outcome === 'known') return { object: result.object, known: true }
      throw refusalError(result)
    },

    async keep(input) {
      const result = await driver.keep(inputs.keepCommand(input, now()))
      if (result.outcome === 'kept') return result.rows
      throw keepError(result)
    },

    listTemporary: async (input) => driver.listTemporary(inputs.listTemporaryQuery(input, now())),

    async endTemporary(input) {
      const command = inputs.endTemporaryCommand(input, now())
      const { rows } = await driver.endTemporary(command)
      return { removed: rows, kept: command.objects.length - rows.length }
    },

    listArrived: async (input) => driver.listArrived(readQuery(inputs.LIST_ARRIVED, input ?? {})),

    async reject(input) {
      const { row } = await driver.reject(readCommand(inputs.REJECT, input, now()))
      if (row === null) throw refusalError({ outcome: 'not-found' })
      return row
    },

    claimEvents: async (input) => driver.claimEvents(inputs.claimEventsCommand(input, now())),

    settleEvents: reduced(
      async (entries: readonly SettleEventInput[]) => {
        const command = inputs.settleEventsCommand(entries, now())
        return command.entries.length === 0 ? [] : driver.settleEvents(command)
      },
      (settled) => settled.map(({ id }) => id),
    ),

    async extendClaims(entries, options) {
      const command = inputs.extendClaimsCommand(entries, options, now())
      return command.entries.length === 0 ? [] : driver.extendClaims(command)
    },

    async listEvents(input) {
      const { items, next } = await driver.listEvents(readQuery(inputs.LIST_EVENTS, input ?? {}))
      return { items, next: next === null ? null : encodeEventCursor(next) }
    },

    countEvents: async () => driver.countEvents({ now: now() }),
    listExpired: async (input) => driver.listExpired(inputs.listExpiredQuery(input, now())),
    purgeExpired: async (input) => (await driver.purgeExpired(inputs.purgeExpiredCommand(input, now()))).rows,

    async listLeftovers(input) {
      return inputs.namesDueBefore(input)
        ? driver.listDueLeftovers(readQuery(inputs.LIST_DUE_LEFTOVERS, input))
        : driver.listLeftovers(inputs.listLeftoversQuery(input))
    },

    deferLeftover: async (input) => driver.deferLeftover(inputs.deferLeftoverCommand(input)),
    forgetLeftover: async (input) => driver.forgetLeftover(inputs.forgottenAttempt(input)),
    purgeDeleted: async (input) => (await driver.purgeDeleted(inputs.purgeDeletedCommand(input))).dropped,

    async migrate(options) {
      const given = migrateChecks.optionalOptions(options, MIGRATE_OPTIONS)
      const signal = migrateChecks.signal(given.signal)
      const onProgress = migrateChecks.function('onProgress', given.onProgress)
      signal?.throwIfAborted()
      // Building an index may take hours, and not every database can be told to stop.
      return unlessAborted(signal, driver.migrate({ signal, onProgress }))
    },

    verify: async () => driver.verify(),
    checkUsage: async (scope) => driver.checkUsage(optional(scope, (given) => checkText('scope', given))),
    repairUsage: async (scope) => driver.repairUsage(optional(scope, (given) => checkText('scope', given))),
    ping: async () => driver.ping(),
    close: async () => driver.close(),
  }
  return rememberParts(store, { driver, now })
}

/** Returns the row unless it belongs to another scope than the query names. */
async function findRow<List extends Pick<typeof inputs.FIND, 'scope'>>(
  list: List & Fields,
  input: unknown,
  find: (query: ReadOf<List>) => Promise<StorageObject | null>,
): Promise<StorageObject | null> {
  const query: ReadOf<List> = readQuery(list, input)
  const row = await find(query)
  return row !== null && query.scope !== null && row.scope !== query.scope ? null : row
}
