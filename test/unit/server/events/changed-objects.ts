import { createAttemptId, type StorageObjectStore, type StoredEvent } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { HOUR, ManualClock } from '../../../conformance/clock.js'

export const at = (key: string) => ({ bucket: 'files', key })

/** A store that records events, and its clock. */
export function recordingStore() {
  const clock = new ManualClock()
  return { clock, store: memoryAdapter({ now: clock.now, events: true }) }
}

/** Makes an object active, or replaces it. Returns its attempt id. */
export async function activate(
  store: StorageObjectStore,
  key: string,
  clock: ManualClock,
  scope = 'user:1',
): Promise<string> {
  const id = createAttemptId({ now: clock.now })
  const attempt = { scope, ...at(key), declaredSize: 1, expiresAt: clock.in(HOUR), overwrite: true }
  await store.reserve({ ...attempt, id })
  await store.confirm({ ...at(key), id, size: 1 })
  return id
}

export const nameOf = ({ type, object }: StoredEvent) => `${type} ${object.key}`

/** The number of events that are still to be settled. */
export async function remaining(store: StorageObjectStore): Promise<number> {
  const { waiting, claimed, retrying } = await store.countEvents()
  return waiting + claimed + retrying
}

/** Lets everything run that needs no timer, until the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve))
}

/** A promise that the test settles. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((...settle) => ([resolve, reject] = settle))
  return { promise, resolve, reject }
}
