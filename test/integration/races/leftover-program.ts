import { createAttemptId, StorageError, type Leftover, type StorageObjectStore } from '@svc/db'
import type { Caller, Round } from './programs.js'
import type { OwedAttempt } from './race.js'

const BUCKET = 'leftovers'
const SCOPES = 8
const KEYS = 24
const SHORT = 300
const PAGE = 1000

const referenceOf = (key: number) => ({ bucket: BUCKET, key: `key ${key}` })

/**
 * Begins attempts, ends them in every way, some at once, begins some of them again, and forgets leftovers. Every attempt
 * with bytes must be live or have a leftover, until that is forgotten.
 */
export const leftovers: Round = async (caller) => {
  const { store, report, attempt, random } = caller
  // Out of the list, so that no other caller of the process uses the attempt meanwhile.
  const [earlier] = random(3) === 0 ? report.owed.splice(random(report.owed.length), 1) : []
  const owed = earlier ?? { key: random(KEYS), id: createAttemptId() }
  const forget = () => attempt('forgetLeftover', store.forgetLeftover({ attemptId: owed.id }))
  if (earlier && random(2) === 0) {
    if (!(await forget())) report.owed.push(owed)
    return
  }
  const result = await beginAndEnd(caller, owed, earlier !== undefined)
  if (result === 'refused' && !earlier) return
  if (result !== 'ended' || random(4) > 0) return void report.owed.push(owed)
  if (!(await forget())) report.faults.push(`an attempt that ended has no leftover: ${owed.id}`)
}

/** Returns `ended` if this caller ended the attempt, and so knows that it is not live. */
async function beginAndEnd(
  { store, attempt, random }: Caller,
  { key, id }: OwedAttempt,
  isRepeated: boolean,
): Promise<'refused' | 'begun' | 'ended'> {
  const at = { ...referenceOf(key), id }
  // Always the same, so that attempts replace each other rather than being refused.
  const scope = `leftovers ${key % SCOPES}`
  const expiresAt = new Date(Date.now() + (random(4) === 0 ? SHORT : 3_600_000))
  const reserving = store.reserve({ ...at, scope, storageKey: id, declaredSize: 1, expiresAt })
  if (!(await attempt('reserve', isRepeated ? reserving.catch(nullIfActive) : reserving))) return 'refused'
  switch (random(8)) {
    case 0:
      return 'begun'
    case 1:
      await attempt('setUploadId', store.setUploadId({ ...at, uploadId: 'u' }))
      break
    case 2:
      await attempt('purgeExpired', store.purgeExpired({ limit: 20 }))
      return 'begun'
    case 3:
    case 4: {
      if (!(await attempt('confirm', store.confirm({ ...at, size: 1 })))) return 'begun'
      const mode = random(2) === 0 ? 'soft' : 'hard'
      const removed = await attempt('remove', store.remove({ ...referenceOf(key), mode }))
      return removed?.attemptId === id ? 'ended' : 'begun'
    }
  }
  const released = await attempt('release', store.release(random(2) === 0 ? { ...at, scope } : at))
  return released ? 'ended' : 'begun'
}

/** An attempt that is active can't begin again. */
function nullIfActive(error: unknown): null {
  if (error instanceof StorageError && error.code === 'VALIDATION_ERROR') return null
  throw error
}

/** Returns the attempts that are neither live nor have a leftover. Call it after the race. */
export async function lostLeftovers(
  store: StorageObjectStore,
  owed: readonly OwedAttempt[],
): Promise<OwedAttempt[]> {
  const kept = new Set<string>()
  for (let key = 0; key < KEYS; key++) {
    const at = referenceOf(key)
    for (const row of [await store.findPending(at), await store.findActive(at)])
      if (row) kept.add(row.attemptId)
  }
  for (let after: Leftover | undefined; ;) {
    const page = await store.listLeftovers({ limit: PAGE, after })
    for (const { attemptId } of page) kept.add(attemptId)
    if (page.length < PAGE) break
    after = page.at(-1)
  }
  return owed.filter(({ id }) => !kept.has(id))
}
