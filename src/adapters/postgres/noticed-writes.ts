import type { StoreDriver } from '../../core/store/driver.js'
import type { StorageObject } from '../../core/store/records.js'
import type { IndexMarks } from './index-marks.js'

/** Notes what a call has made due, once it has ended. */
type Notice<Method extends keyof StoreDriver> = (
  marks: IndexMarks,
  command: Parameters<StoreDriver[Method]>[0],
  outcome: Awaited<ReturnType<StoreDriver[Method]>>,
) => void

const never = null

/** Milliseconds after which events of a write may be listed later than those of others that drew later numbers. */
const LONG_WRITE = 60_000

/** A write of an active row or of one that has arrived records an event. The row may end, and with it an attempt. */
function written(
  marks: IndexMarks,
  now: Date,
  row: { readonly scope: string } | null,
  scopes: readonly string[] = [],
): void {
  if (row === null) return
  marks.firstEvents.lower(now.getTime())
  marks.change([row.scope, ...scopes], (ofScope) => ofScope.ended(now.getTime()))
}

/** Notes the end of an object, or of the time for the check of an attempt. */
function dated(
  marks: IndexMarks,
  row: Pick<StorageObject, 'scope' | 'temporaryUntil' | 'arrivedAt' | 'expiresAt'> | null,
): void {
  if (row?.temporaryUntil) {
    const end = row.temporaryUntil.getTime()
    marks.change([row.scope], ({ temporary }) => temporary.lower(end))
  } else if (row?.arrivedAt && row.expiresAt) {
    const end = row.expiresAt.getTime()
    marks.change([row.scope], ({ arrived }) => arrived.lower(end))
  }
}

/** What each method makes due earlier than later looks start. The compiler asks for those of new methods. */
const NOTICES: { readonly [Method in keyof StoreDriver]: Notice<Method> | null } = {
  list: never,
  count: never,
  usage: never,
  find: never,
  findActive: never,
  findPending: never,
  findPendingMultipart: never,
  findById: never,
  listScopes: never,
  listStored: never,
  reserve(marks, { scope, expiresAt, now }, outcome) {
    const scopes = ('scopes' in outcome && outcome.scopes) || [scope]
    marks.change(scopes, (ofScope) => {
      ofScope.ended(now.getTime())
      ofScope.expired.lower(expiresAt.getTime())
    })
  },
  confirm(marks, { now }, outcome) {
    const row = 'row' in outcome ? outcome.row : null
    written(marks, now, row)
    dated(marks, row)
  },
  setUploadId: never,
  release: (marks, { now }, { row }) => written(marks, now, row),
  remove: (marks, { now }, { row }) => written(marks, now, row),
  update(marks, { now }, outcome) {
    const row = 'row' in outcome ? outcome.row : null
    written(marks, now, row)
    dated(marks, row)
  },
  transfer(marks, { now, from, to }, outcome) {
    written(marks, now, { scope: from }, [to])
    dated(marks, 'row' in outcome ? outcome.row : null)
  },
  adopt(marks, { now, scope }, outcome) {
    const scopes = ('scopes' in outcome && outcome.scopes) || []
    written(marks, now, { scope }, scopes)
  },
  // Clears ends, which events tell of. No row ends.
  keep(marks, { now }, { outcome }) {
    if (outcome === 'kept') marks.firstEvents.lower(now.getTime())
  },
  listTemporary: never,
  endTemporary(marks, { now }, { rows }) {
    // Those that are kept, which are not among the rows, have events as well.
    marks.firstEvents.lower(now.getTime())
    for (const row of rows) written(marks, now, row)
  },
  listArrived: never,
  reject(marks, { now }, { row }) {
    written(marks, now, row)
    if (row === null) return
    marks.forgotten.lower(now.getTime())
    marks.change([row.scope], ({ rejections }) => rejections.lower(now.getTime()))
  },
  claimEvents: (marks, { until }) => marks.retries.lower(until.getTime()),
  // The method itself knows which events come next.
  settleEvents(marks, { entries }) {
    for (const { retryAt } of entries) if (retryAt) marks.retries.lower(retryAt.getTime())
  },
  extendClaims: (marks, { until }) => marks.retries.lower(until.getTime()),
  listEvents: never,
  countEvents: never,
  recordsEvents: never,
  listExpired: never,
  purgeExpired(marks, { now }, { rows, isUncertain }) {
    const scopes = [...new Set(rows.map(({ scope }) => scope))]
    marks.change(isUncertain ? null : scopes, (ofScope) => ofScope.ended(now.getTime()))
  },
  listLeftovers: never,
  forgetLeftover: never,
  listDueLeftovers: never,
  // The method itself knows the scope.
  deferLeftover: () => undefined,
  purgeDeleted: never,
  migrate: (marks) => marks.reset(),
  verify: never,
  checkUsage: never,
  repairUsage: never,
  ping: never,
  close: never,
}

/** Lets the writes of a driver lower the marks of what they make due. */
export function noticingWrites(driver: StoreDriver, marks: IndexMarks): StoreDriver {
  const methods = Object.entries(driver).map(([name, method]) => {
    const notice: Notice<never> | null = NOTICES[name as keyof StoreDriver]
    if (notice === null) return [name, method] as const
    const call = method as (command: never) => Promise<never>
    const noticed = async (command: never) => {
      const startedAt = performance.now()
      try {
        const outcome = await call(command)
        // An event draws its number before the write ends.
        if (performance.now() - startedAt >= LONG_WRITE) marks.listedEvents.reset()
        notice(marks, command, outcome)
        return outcome
      } catch (error) {
        marks.reset()
        throw error
      }
    }
    return [name, noticed] as const
  })
  // A cast, because `Object.fromEntries` forgets the names.
  return Object.fromEntries(methods) as unknown as StoreDriver
}
