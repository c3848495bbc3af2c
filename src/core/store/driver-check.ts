import type { StoreDriver } from './driver.js'
import { shownHandle } from './validation/checks.js'

/** An object, because the compiler then demands every method. */
const METHODS = {
  list: true,
  count: true,
  usage: true,
  find: true,
  findActive: true,
  findPending: true,
  findPendingMultipart: true,
  reserve: true,
  confirm: true,
  setUploadId: true,
  release: true,
  remove: true,
  update: true,
  transfer: true,
  adopt: true,
  keep: true,
  listTemporary: true,
  endTemporary: true,
  listArrived: true,
  reject: true,
  findById: true,
  listScopes: true,
  listStored: true,
  claimEvents: true,
  settleEvents: true,
  extendClaims: true,
  listEvents: true,
  countEvents: true,
  recordsEvents: true,
  listExpired: true,
  purgeExpired: true,
  listLeftovers: true,
  forgetLeftover: true,
  listDueLeftovers: true,
  deferLeftover: true,
  purgeDeleted: true,
  migrate: true,
  verify: true,
  checkUsage: true,
  repairUsage: true,
  ping: true,
  close: true,
} satisfies Record<keyof StoreDriver, true>

export const DRIVER_METHODS = Object.keys(METHODS) as readonly (keyof StoreDriver)[]

export function checkDriver(driver: unknown): void {
  if (typeof driver !== 'object' || driver === null) {
    throw new TypeError(`createStore: the driver must be an object (got ${shownHandle(driver)}).`)
  }
  const given = driver as Readonly<Record<string, unknown>>
  const missing = DRIVER_METHODS.filter((name) => typeof given[name] !== 'function')
  if (missing.length === 0) return
  const names = new Intl.ListFormat('en').format(missing.map((name) => `"${name}"`))
  throw new TypeError(`createStore: the driver lacks the method${missing.length > 1 ? 's' : ''} ${names}.`)
}
