import type { EventHandler } from '@svc/db'
import { beforeEach, describe, expect, it } from 'vitest'
import { around, startService } from '../service.js'
import { deferred, recordingStore, remaining, until } from './changed-objects.js'
import { withFakeTimers } from './fake-timers.js'

const PLACES = 8

describe.each([
  ['in the process', null],
  ['of each request', () => undefined],
])('s3.close() with deliveries %s', (_, waitUntil) => {
  let { store, clock } = recordingStore()
  const pass = withFakeTimers(() => clock)
  beforeEach(() => void ({ store, clock } = recordingStore()))

  const start = (onEvent: EventHandler) => startService({ objects: store, clock, onEvent, waitUntil })
  const claimed = (count: number) => async () => (await store.countEvents()).claimed === count

  /** Closes the server. `isClosed` tells whether that has resolved. */
  function closing(service: ReturnType<typeof start>, timeoutSeconds?: number) {
    const state = { isClosed: false, end: Promise.resolve() }
    state.end = service.s3.close({ timeoutSeconds }).then(() => void (state.isClosed = true))
    return state
  }

  it('lets the handlers in progress end, and starts no others', async () => {
    const handlers = Array.from({ length: PLACES }, deferred)
    let started = 0
    const service = start(() => handlers[started++]?.promise)
    const ann = service.as('user:1')
    for (let uploads = 0; uploads < PLACES; uploads++) await ann.upload()
    await until(claimed(PLACES))
    // With places of the process, it waits for one.
    if (!waitUntil) await ann.upload()
    const first = closing(service)
    const second = closing(service)
    for (const handler of handlers.slice(1)) handler.resolve()
    await until(claimed(1))
    expect([first.isClosed, second.isClosed]).toEqual([false, false])
    handlers[0]!.resolve()
    await Promise.all([first.end, second.end])

    expect((await ann.begin()).status).toBe(201)
    await ann.upload()
    await service.s3.close()
    expect(started).toBe(PLACES)
    expect(await remaining(store)).toBe(waitUntil ? 1 : 2)
    expect(service.reported).toEqual([])
  })

  it('starts no handler of an event whose claim comes back later', async () => {
    const claim = deferred()
    let asked = 0
    around(store, 'claimEvents', (call) => async (input) => {
      asked++
      const events = await call(input)
      await claim.promise
      return events
    })
    let handled = 0
    const service = start(() => handled++)
    await service.as('user:1').upload()
    await until(() => asked > 0)
    const { end } = closing(service)
    claim.resolve()
    await end
    expect(handled).toBe(0)
    expect(await store.countEvents()).toEqual({ waiting: 0, claimed: 0, retrying: 1 })
  })

  it('aborts the signals after the time-out, and their events come back when the claims end', async () => {
    const signals: AbortSignal[] = []
    const service = start((_event, { signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    })
    const ann = service.as('user:1')
    for (let uploads = 0; uploads < 2; uploads++) await ann.upload()
    await until(claimed(2))
    const { end } = closing(service, 5)
    await pass(4)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
    await pass(1)
    await end
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
    const told = (await service.reportedBy('deliverEvents')).map((error) => (error as Error).message)
    expect(told.join()).toMatch(/^The server was closed 5 seconds ago, while . handlers were still running\./)
    expect(await store.countEvents()).toEqual({ waiting: 0, claimed: 2, retrying: 0 })
    await pass(60)
    expect(await store.claimEvents()).toHaveLength(2)
  })

  it('resolves after the time-out if the store never responds', async () => {
    let asked = 0
    around(store, 'claimEvents', () => () => {
      asked++
      return new Promise(() => {})
    })
    const service = start(() => undefined)
    await service.as('user:1').upload()
    await until(() => asked > 0)
    const state = closing(service)
    await pass(29)
    expect(state.isClosed).toBe(false)
    await pass(1)
    await state.end
  })
})
