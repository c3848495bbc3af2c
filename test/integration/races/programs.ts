import { createAttemptId, StorageError, type StorageObject, type StorageObjectStore } from '@svc/db'
import { emptyReport, type RaceReport } from './race.js'

/** The scopes that the callers of `quota` fight over, each with what it may hold. */
export const HOT_SCOPES = {
  'hot for bytes': { maxBytes: 3000 },
  'hot for files': { maxFiles: 60 },
}
const BUCKET = 'race'
const OWNED_KEYS = 40
const MIXED_SCOPES = 3
const MIXED_KEYS = 12
/** Milliseconds; long enough to be in the future still when a busy process comes to reserve. */
const LAPSE = 300

const REFUSALS = new Set(['KEY_CONFLICT', 'QUOTA_EXCEEDED', 'OBJECT_NOT_FOUND'])

/** One caller of a race: calls one after the other until its time is over. */
export interface Caller {
  readonly store: StorageObjectStore
  /** Unlike that of any other caller of the race. */
  readonly name: string
  readonly report: RaceReport
  /** What the call resolves to; `null` where the contract refuses it. Anything else is a fault. */
  readonly attempt: <T>(what: string, call: Promise<T>) => Promise<T | null>
  readonly random: (limit: number) => number
}

type Round = (caller: Caller) => Promise<void>

const inAnHour = () => new Date(Date.now() + 3_600_000)
const at = (key: string) => ({ bucket: BUCKET, key })

/** At the edge of a quota: what is acknowledged is exactly what is there, and never too much. */
const quota: Round = async ({ store, name, report, attempt, random }) => {
  const [scope, limits] = Object.entries(HOT_SCOPES)[random(2)]!
  const reference = at(`${name}/${createAttemptId()}`)
  const declaredSize = random(40)
  const input = { scope, ...reference, declaredSize, expiresAt: inAnHour(), quota: limits }
  const row = await attempt('reserve', store.reserve(input))
  if (!row) {
    // Make some room, or nothing would happen any more.
    const { objects } = await store.listByScope({ scope, limit: 20 })
    const mine = objects.find((object) => object.key.startsWith(`${name}/`))
    if (!mine) return
    const gone = await attempt('remove', store.remove({ ...at(mine.key), scope, mode: 'hard' }))
    if (!gone) return void report.faults.push(`an acknowledged object is not there: ${mine.key}`)
    report.bytes -= gone.size ?? gone.declaredSize ?? 0
    report.files--
    return
  }
  report.bytes += declaredSize
  report.files++
  // As announced, or larger, which the quota may refuse; the reservation stays then.
  const size = declaredSize + (random(2) === 0 ? 0 : random(40))
  const confirmed = await attempt('confirm', store.confirm({ ...reference, id: row.id, size, quota: limits }))
  if (confirmed) report.bytes += size - declaredSize
}

/** Every caller is a scope of its own, and all want the same keys. What a scope was given nobody else can take. */
const owners: Round = async ({ store, name, report, attempt, random }) => {
  const key = `wanted ${random(OWNED_KEYS)}`
  const storageKey = createAttemptId()
  const row = await attempt(
    'reserve',
    store.reserve({ scope: name, ...at(key), declaredSize: 1, expiresAt: inAnHour(), storageKey }),
  )
  if (!row) return
  const found = await store.findPending({ ...at(key), id: row.id })
  if (found?.scope !== name)
    report.faults.push(`${name} was given ${key}, but ${found?.scope ?? 'nobody'} has it`)
  if (random(4) === 0) {
    if (!(await attempt('release', store.release({ ...at(key), id: row.id, scope: name })))) {
      report.faults.push(`${name} could not release ${key}`)
    }
    return
  }
  const object = await attempt('confirm', store.confirm({ ...at(key), id: row.id, scope: name, size: 2 }))
  if (!object) report.faults.push(`${name} could not confirm ${key}`)
  if (random(4) === 0) return
  const removed = await attempt('remove', store.remove({ ...at(key), scope: name }))
  if (removed?.scope !== name) report.faults.push(`${name} could not remove ${key}`)
}

/** Few keys, few scopes, every kind of write, reservations that lapse at once, and repairs in between. */
const mix: Round = async ({ store, attempt, random }) => {
  const scope = `mix ${random(MIXED_SCOPES)}`
  const reference = at(`mixed ${random(MIXED_KEYS)}`)
  const any = (limit: number) => random(limit) === 0
  const quota = any(2) ? { maxBytes: 200, maxFiles: 10 } : undefined
  switch (random(12)) {
    case 0:
      return void (await attempt(
        'remove',
        store.remove({ ...reference, scope: any(2) ? scope : undefined, mode: any(2) ? 'hard' : 'soft' }),
      ))
    case 1:
      return void (await attempt('release', store.release(reference)))
    case 2:
      return void (await attempt(
        'purgeExpired',
        store.purgeExpired({ scope: any(2) ? scope : undefined, limit: 1 + random(20) }),
      ))
    case 3:
      return void (await attempt(
        'purgeDeleted',
        store.purgeDeleted({ before: new Date(), limit: 1 + random(20) }),
      ))
    case 4:
      if (any(10)) await attempt('repairUsage', store.repairUsage(scope))
      return
    case 5:
      return void (await attempt(
        'confirm',
        store.confirm({ ...reference, size: random(30), eTag: 'e', quota }),
      ))
    default: {
      const expiresAt = any(3) ? new Date(Date.now() + LAPSE) : inAnHour()
      const storageKey = any(2) ? createAttemptId() : undefined
      const overwrite = !any(4)
      const input = { scope, ...reference, declaredSize: random(30), expiresAt, storageKey, overwrite, quota }
      const row = await attempt('reserve', store.reserve(input))
      if (!row) return
      if (any(3)) await attempt('setUploadId', store.setUploadId({ ...reference, id: row.id, uploadId: 'u' }))
      if (!any(3))
        await attempt('confirm', store.confirm({ ...reference, id: row.id, size: random(30), quota }))
    }
  }
}

/** Reservations that have lapsed are confirmed and purged at once: each comes to one end. */
const lapses: Round = async ({ store, name, report, attempt, random }) => {
  const reserving = Array.from({ length: 6 }, () => {
    const reference = at(`${name}/${createAttemptId()}`)
    const declaredSize = random(9)
    const expiresAt = new Date(Date.now() + LAPSE)
    return attempt('reserve', store.reserve({ scope: 'lapses', ...reference, declaredSize, expiresAt }))
  })
  const rows = (await Promise.all(reserving)).filter((row) => row !== null)
  await new Promise((resolve) => setTimeout(resolve, LAPSE))
  const purging = attempt('purgeExpired', store.purgeExpired({ limit: 1 + random(30) }))
  for (const { bucket, key, id } of rows) {
    if (await attempt('confirm', store.confirm({ bucket, key, id, size: random(9) }))) report.ends.push(id)
  }
  report.ends.push(...((await purging) ?? []).map(({ id }) => id))
}

/** Keys of the caller's own in one scope: what was acknowledged can be read back at once, and later. */
const ledger: Round = async ({ store, name, report, attempt, random }) => {
  const reference = at(`${name}/${random(5)}`)
  const expect = (what: string, found: StorageObject | null, wanted: Partial<StorageObject> | null) => {
    const same =
      wanted === null
        ? found === null
        : found?.attemptId === wanted.attemptId && found?.status === wanted.status
    if (!same) report.faults.push(`${what} of ${reference.key} was acknowledged and is not there`)
  }
  const row = await attempt(
    'reserve',
    store.reserve({ scope: 'ledger', ...reference, declaredSize: random(100), expiresAt: inAnHour() }),
  )
  expect('reserve', await store.findPending(reference), row)
  const object = await attempt('confirm', store.confirm({ ...reference, id: row?.id, size: random(100) }))
  expect('confirm', await store.findActive(reference), object)
  if (random(3) > 0) return
  await attempt('remove', store.remove({ ...reference, mode: 'hard' }))
  expect('remove', await store.find(reference), null)
}

export const PROGRAMS = { quota, owners, mix, lapses, ledger } satisfies Record<string, Round>
export type ProgramName = keyof typeof PROGRAMS

/** Lets callers run a program at once until the time is over. */
export async function runProgram(
  store: StorageObjectStore,
  program: ProgramName,
  { callers, milliseconds, prefix }: { callers: number; milliseconds: number; prefix: string },
): Promise<RaceReport> {
  const report = emptyReport()
  const end = Date.now() + milliseconds
  const attempt = async <T>(what: string, call: Promise<T>): Promise<T | null> => {
    try {
      const result = await call
      report.acknowledged++
      return result
    } catch (error) {
      if (error instanceof StorageError && REFUSALS.has(error.code)) report.refused++
      else report.faults.push(`${what}: ${String(error)}, ${String((error as Error).cause)}`)
      return null
    }
  }
  await Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      const random = (limit: number) => Math.floor(Math.random() * limit)
      const caller: Caller = { store, name: `${prefix}.${index}`, report, attempt, random }
      while (Date.now() < end && report.faults.length === 0) await PROGRAMS[program](caller)
    }),
  )
  return report
}
