import { createAttemptId, deliverEvents, StorageError, type StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'

export interface OutageTest {
  /** A store with events on, over a server that the test may stop. */
  readonly store: StorageObjectStore
  readonly kill: () => Promise<void>
  readonly restart: () => Promise<void>
}

async function activate(store: StorageObjectStore, key: string): Promise<void> {
  const at = { bucket: 'files', key }
  const id = createAttemptId()
  await store.reserve({ id, scope: 'ann', ...at, declaredSize: 1, expiresAt: new Date(Date.now() + 600_000) })
  await store.confirm({ ...at, id, size: 1 })
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
}

/**
 * Stops the server while a handler runs. A job that polls must report that and go on where it was: the event is settled, not
 * delivered again. A job that doesn't poll must reject.
 */
export async function expectToSurviveOutage({ store, kill, restart }: OutageTest): Promise<void> {
  await activate(store, 'a')
  let finishHandler = (): void => {}
  const handler = new Promise<void>((resolve) => (finishHandler = resolve))
  const seen: string[] = []
  const errors: unknown[] = []
  const stop = new AbortController()
  const job = deliverEvents(store, {
    async onEvent({ object }) {
      seen.push(object.key)
      if (object.key === 'a') await handler
    },
    onError: (error) => void errors.push(error),
    pollSeconds: 0.1,
    signal: stop.signal,
  })
  await until(() => seen.length === 1)
  await kill()
  const once = deliverEvents(store, {
    onEvent: () => expect.unreachable(),
    onError: () => expect.unreachable(),
  })
  await expect(once).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  finishHandler()
  await until(() => errors.length > 1)
  await restart()
  await activate(store, 'b')
  await until(() => seen.length === 2)
  stop.abort()
  expect(await job).toEqual({ delivered: 2, failed: [] })
  expect(seen).toEqual(['a', 'b'])
  expect(errors.every((error) => error instanceof StorageError && error.retryable)).toBe(true)
  expect(await store.countEvents()).toEqual({ waiting: 0, claimed: 0, retrying: 0 })
}
