import { afterEach, expect, it, vi } from 'vitest'
import type { Namespace } from '../../../../src/adapters/mongo/connection/namespace.js'
import { createMongoDriver } from '../../../../src/adapters/mongo/driver.js'

afterEach(() => void vi.useRealTimers())

it('migrate() rejects if the server does not respond to what it reads', async () => {
  vi.useFakeTimers()
  const db = { command: () => new Promise(() => {}) }
  const namespace = { db, client: {} } as unknown as Namespace
  const migration = createMongoDriver({ namespace, timeout: 30_000 }).migrate({})
  const outcome = vi.fn()
  void migration.catch(outcome)
  await vi.advanceTimersByTimeAsync(30_000)
  expect(outcome.mock.calls).toMatchObject([[{ code: 'DATABASE_UNAVAILABLE', retryable: true }]])
})
