import { describe, expect, it } from 'vitest'
import { createStore } from '@svc/db'
import { idNumber, pendingRow } from '../rows.js'
import { afterNoon, NOON } from '../settable-clock.js'
import { recordingDriver } from './recording-driver.js'

const REFERENCE = { bucket: 'photos', key: 'a.png' }
const results = {
  reserve: { outcome: 'reserved', row: pendingRow(), scopes: [] },
  listExpired: [],
  listLeftovers: [],
  purgeDeleted: { dropped: 0, scopes: [] },
} as const

function recorded() {
  const { driver, calls } = recordingDriver({ ...results, listExpired: [], listLeftovers: [] })
  return { driver, lastInput: () => calls.at(-1)!.args[0] }
}

describe('a store', () => {
  it("passes copies of the caller's dates and metadata to the driver", async () => {
    const { driver, lastInput } = recorded()
    const expiresAt = afterNoon(1)
    const metadata = { a: 'b' }
    const store = createStore(driver, { now: () => NOON })
    await store.reserve({ ...REFERENCE, scope: 'user:1', declaredSize: 5, expiresAt, metadata })
    expiresAt.setTime(0)
    metadata.a = 'changed'
    expect(lastInput()).toMatchObject({ expiresAt: afterNoon(1), metadata: { a: 'b' } })
  })

  it("passes copies of a position's dates to the driver", async () => {
    const { driver, lastInput } = recorded()
    const store = createStore(driver, { now: () => NOON })
    const date = afterNoon(-5)
    await store.listExpired({ before: date, after: { expiresAt: date, id: idNumber(1) } })
    const expired = lastInput()
    await store.listLeftovers({ after: { since: date, attemptId: idNumber(1) } })
    const leftovers = lastInput()
    await store.purgeDeleted({ before: date })
    const deleted = lastInput()
    date.setTime(0)
    expect(expired).toMatchObject({ before: afterNoon(-5), after: { expiresAt: afterNoon(-5) } })
    expect(leftovers).toMatchObject({ after: { since: afterNoon(-5) } })
    expect(deleted).toMatchObject({ before: afterNoon(-5) })
  })

  it('copies the Date of its clock', async () => {
    const { driver, lastInput } = recorded()
    const time = new Date(NOON)
    const store = createStore(driver, { now: () => time })
    await store.reserve({ ...REFERENCE, scope: 'user:1', declaredSize: 5, expiresAt: afterNoon(1) })
    time.setTime(0)
    expect(lastInput()).toMatchObject({ now: NOON })
  })

  it('reads its clock for each call', async () => {
    const { driver, lastInput } = recorded()
    let time = NOON
    const store = createStore(driver, { now: () => time })
    await store.listExpired()
    expect(lastInput()).toMatchObject({ before: NOON })
    time = afterNoon(1000)
    await store.listExpired()
    expect(lastInput()).toMatchObject({ before: afterNoon(1000) })
  })

  it('uses the system clock by default', async () => {
    const { driver, lastInput } = recorded()
    const before = Date.now()
    await createStore(driver).listExpired()
    const now = (lastInput() as { before: Date }).before.getTime()
    expect(now).toBeGreaterThanOrEqual(before)
    expect(now).toBeLessThanOrEqual(Date.now())
  })
})
