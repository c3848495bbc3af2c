import { setImmediate } from 'node:timers/promises'
import { createAttemptId, type StorageObject, type StorageObjectStore } from '@svc/db'
import { AHEAD, ends, verdicts } from './decision-programs.js'
import { leftovers } from './leftover-program.js'
import type { RaceReport, RaceTask } from './race.js'
import { isRefusal } from './refusals.js'

/** The scopes that the callers of `quota` share, with their limits. */
export const HOT_SCOPES = {
  'hot for bytes': { maxBytes: 3000 },
  'hot for files': { maxFiles: 60 },
}
const BUCKET = 'race'
const OWNED_KEYS = 40
const MIXED_SCOPES = 3
const MIXED_KEYS = 12
/** Milliseconds until a reservation expires. */
const EXPIRES_AFTER = 600

/** One caller of a race, which makes one call after the other until the end. */
export interface Caller {
  readonly store: StorageObjectStore
  /** Unique in the race. */
  readonly name: string
  readonly report: RaceReport
  /** Resolves to the result of the call, or `null` if the contract refuses it. Any other error is a fault. */
  readonly attempt: <T>(what: string, call: Promise<T>) => Promise<T | null>
  readonly random: (limit: number) => number
}

export interface RaceCaller extends Caller {
  /** A store on the same database, whose clock is ahead of the others. */
  readonly later: StorageObjectStore
}

export type Round = (caller: Caller) => Promise<void>

const inAnHour = () => new Date(Date.now() + 3_600_000)
const at = (key: string) => ({ bucket: BUCKET, key })

/** Works at the limit of a quota. The acknowledged bytes must equal the stored ones and never exceed the limit. */
const quota: Round = async ({ store, name, report, attempt, random }) => {
  const [scope, limits] = Object.entries(HOT_SCOPES)[random(2)]!
  const reference = at(`${name}/${createAttemptId()}`)
  const declaredSize = random(40)
  const input = { scope, ...reference, declaredSize, expiresAt: inAnHour(), quota: limits }
  const row = await attempt('reserve', store.reserve(input))
  if (!row) {
    // Free some space, or no call would succeed any more.
    const { objects } = await store.listByScope({ scope, limit: 20 })
    const mine = objects.find((object) => object.key.startsWith(`${name}/`))
    if (!mine) return
    const gone = await attempt('remove', store.remove({ ...at(mine.key), scope, mode: 'hard' }))
    if (!gone) return void report.faults.push(`an acknowledged object is missing: ${mine.key}`)
    report.bytes -= gone.size ?? gone.declaredSize ?? 0
    report.files--
    return
  }
  report.bytes += declaredSize
  report.files++
  // Confirms the declared size or a larger one. If the quota refuses it, the reservation stays.
  const size = declaredSize + (random(2) === 0 ? 0 : random(40))
  const confirmed = await attempt('confirm', store.confirm({ ...reference, id: row.id, size, quota: limits }))
  if (confirmed) report.bytes += size - declaredSize
}

/** Each caller has its own scope, and all compete for the same keys. No scope may lose a key that it got. */
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
    report.faults.push(`${name} reserved ${key}, but its scope is ${found?.scope ?? 'missing'}`)
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

/** Makes every kind of write over few keys and scopes, with short reservations and repairs. */
const mix: Round = async ({ store, attempt, random }) => {
  const scope = `mix ${random(MIXED_SCOPES)}`
  const reference = at(`mixed ${random(MIXED_KEYS)}`)
  const any = (limit: number) => random(limit) === 0
  const quota = any(2) ? { maxBytes: 200, maxFiles: 10 } : undefined
  switch (random(15)) {
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
    case 6: {
      const listed = { scope, limit: 1 + random(5), before: inAnHour() }
      const objects = (await attempt('listTemporary', store.listTemporary(listed))) ?? []
      const ids = objects.map(({ id }) => id)
      if (ids.length === 0) return
      return void (any(2)
        ? await attempt('keep', store.keep({ scope, objects }))
        : await attempt('endTemporary', store.endTemporary({ objects, keep: ids.filter(() => any(2)) })))
    }
    case 7: {
      const [arrived] = (await attempt('listArrived', store.listArrived({ scope, limit: 5 }))) ?? []
      if (!arrived) return
      const { bucket, key, id } = arrived
      return void (any(2)
        ? await attempt('reject', store.reject({ bucket, key, id }))
        : await attempt('accept', store.confirm({ bucket, key, id, size: arrived.size!, accept: true })))
    }
    case 8: {
      const temporarySeconds = any(2) ? null : 60
      return void (await attempt(
        'update',
        store.update({ ...reference, metadata: { any: 'x' }, temporarySeconds }),
      ))
    }
    default: {
      const expiresAt = any(3) ? new Date(Date.now() + EXPIRES_AFTER) : inAnHour()
      const storageKey = any(2) ? createAttemptId() : undefined
      const overwrite = !any(4)
      const input = { scope, ...reference, declaredSize: random(30), expiresAt, storageKey, overwrite, quota }
      const temporarySeconds = any(3) ? 60 : undefined
      const checkSeconds = storageKey !== undefined && any(3) ? 60 : undefined
      const row = await attempt('reserve', store.reserve({ ...input, temporarySeconds, checkSeconds }))
      if (!row) return
      if (any(3)) await attempt('setUploadId', store.setUploadId({ ...reference, id: row.id, uploadId: 'u' }))
      if (!any(3))
        await attempt('confirm', store.confirm({ ...reference, id: row.id, size: random(30), quota }))
    }
  }
}

/** Confirms and purges expired reservations at the same time. Each must end exactly once. */
const expiry: Round = async ({ store, name, report, attempt, random }) => {
  const reserving = Array.from({ length: 6 }, () => {
    const reference = at(`${name}/${createAttemptId()}`)
    const declaredSize = random(9)
    const expiresAt = new Date(Date.now() + EXPIRES_AFTER)
    return attempt('reserve', store.reserve({ scope: 'expiry', ...reference, declaredSize, expiresAt }))
  })
  const rows = (await Promise.all(reserving)).filter((row) => row !== null)
  await new Promise((resolve) => setTimeout(resolve, EXPIRES_AFTER))
  const purging = attempt('purgeExpired', store.purgeExpired({ limit: 1 + random(30) }))
  for (const { bucket, key, id } of rows) {
    if (await attempt('confirm', store.confirm({ bucket, key, id, size: random(9) }))) report.ends.push(id)
  }
  report.ends.push(...((await purging) ?? []).map(({ id }) => id))
}

/** Writes the caller's own keys in one scope. Every acknowledged write must be readable. */
const ledger: Round = async ({ store, name, report, attempt, random }) => {
  const reference = at(`${name}/${random(5)}`)
  const expect = (what: string, found: StorageObject | null, wanted: Partial<StorageObject> | null) => {
    const same =
      wanted === null
        ? found === null
        : found?.attemptId === wanted.attemptId && found?.status === wanted.status
    if (!same) report.faults.push(`${what} of ${reference.key} was acknowledged and is missing`)
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

export const PROGRAMS = { quota, owners, mix, expiry, ledger, leftovers, ends, verdicts } satisfies Record<
  string,
  (caller: RaceCaller) => Promise<void>
>
export type ProgramName = keyof typeof PROGRAMS

/** Runs a program with concurrent callers until `isOver`. */
export async function runProgram(
  open: (now?: () => Date) => StorageObjectStore,
  report: RaceReport,
  { program, callers, worker, isOver }: Omit<RaceTask, 'connection'> & { isOver: () => boolean },
): Promise<void> {
  const store = open()
  const later = open(() => new Date(Date.now() + AHEAD))
  const attempt = async <T>(what: string, call: Promise<T>): Promise<T | null> => {
    try {
      const result = await call
      report.acknowledged++
      return result
    } catch (error) {
      if (isRefusal(error)) report.refused++
      else report.faults.push(`${what}: ${String(error)}, ${String((error as Error).cause)}`)
      return null
    }
  }
  await Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      const random = (limit: number) => Math.floor(Math.random() * limit)
      const name = `caller ${worker}.${index}`
      const caller: RaceCaller = { store, later, name, report, attempt, random }
      while (!isOver() && report.faults.length === 0) {
        await PROGRAMS[program](caller)
        // Calls of SQLite end without a turn of the event loop, in which the message arrives that ends the program.
        await setImmediate()
      }
    }),
  )
}
