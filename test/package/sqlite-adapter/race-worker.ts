import { StorageError, type ErrorCode } from '@svc/db/adapter'
import { sqliteAdapter } from '../../../examples/sqlite-adapter/index.ts'

export interface RaceReport {
  /** Number of files that the quota admitted. */
  readonly accepted: number
  /** Number of changes that record an event. */
  readonly changes: number
  /** Ids of the events that this process settled. */
  readonly delivered: readonly string[]
}

export const QUOTA = { maxFiles: 30 } as const
const expiresAt = new Date(Date.now() + 3_600_000)

/** Returns `null` if the write is refused with this code. */
async function unless<T>(code: ErrorCode, call: Promise<T>): Promise<T | null> {
  try {
    return await call
  } catch (error) {
    if (error instanceof StorageError && error.code === code) return null
    throw error
  }
}

/** Makes the calls of one process. */
async function race(path: string, rounds: number): Promise<RaceReport> {
  const store = sqliteAdapter({ path, events: true, busyTimeout: 900_000 })
  await store.migrate()
  let [accepted, changes] = [0, 0]
  const delivered: string[] = []
  for (let round = 0; round < rounds; round++) {
    const name = `${process.pid}/${round}`
    const mine = { scope: 'crowd', bucket: 'b', key: name, quota: QUOTA }
    const attempt = await unless('QUOTA_EXCEEDED', store.reserve({ ...mine, declaredSize: 1, expiresAt }))
    if (attempt) {
      await store.confirm({ ...mine, id: attempt.id, size: 1 })
      accepted++
      changes++
    }
    const shared = { bucket: 'b', key: `shared ${round % 3}` }
    if (await store.remove({ ...shared, mode: round % 2 === 0 ? 'soft' : 'hard' })) changes++
    const bytes = {
      ...shared,
      scope: `owner ${process.pid}`,
      storageKey: `bytes of ${name}`,
      size: round,
      createdAt: expiresAt,
    }
    if (await unless('KEY_CONFLICT', store.adopt(bytes))) changes++
    const events = await store.claimEvents({ limit: 5 })
    delivered.push(...(await store.settleEvents(events)))
    process.send?.('progress')
  }
  await store.close()
  return { accepted, changes, delivered }
}

if (process.send) {
  const report = await race(process.argv[2]!, Number(process.argv[3]))
  process.send(report, () => process.disconnect())
}
