import { deliverEvents, StorageError, type EventHandler } from '@svc/db'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { SECOND } from '../../../conformance/clock.js'
import { around } from '../service.js'
import { activate, deferred, recordingStore, remaining } from './changed-objects.js'
import { withFakeTimers } from '../fake-timers.js'

describe('a claim', () => {
  let { store, clock } = recordingStore()
  let errors: unknown[] = []
  const pass = withFakeTimers(() => clock)
  beforeEach(() => {
    ;({ store, clock } = recordingStore())
    errors = []
  })

  const deliver = (onEvent: EventHandler, options: object = {}) =>
    deliverEvents(store, {
      onEvent,
      onError: (error) => void errors.push(error),
      now: clock.now,
      claimSeconds: 60,
      ...options,
    })

  it('is extended in one call with all others, and not after its event is settled', async () => {
    for (const key of ['a', 'b', 'c']) await activate(store, key, clock)
    const extended: number[] = []
    around(store, 'extendClaims', (extend) => (entries, options) => {
      if (entries.length > 0) extended.push(entries.length)
      return extend(entries, options)
    })
    const handlers = { a: deferred(), b: deferred(), c: deferred() }
    const run = deliver(({ object }) => handlers[object.key as 'a' | 'b' | 'c'].promise)
    await pass(20)
    handlers.a.resolve()
    await pass(20)
    handlers.b.resolve()
    handlers.c.resolve()
    expect(await run).toEqual({ delivered: 3, failed: [] })
    expect(extended).toEqual([3, 2])
  })

  it('that took long to get is extended before its handler starts', async () => {
    for (const key of ['a', 'b']) await activate(store, key, clock)
    const claim = store.claimEvents.bind(store)
    around(store, 'claimEvents', (claimEvents) => async (input) => {
      const events = await claimEvents(input)
      if (events.length > 0) clock.advance(59 * SECOND)
      return events
    })
    const handler = deferred()
    const run = deliver(() => handler.promise)
    await pass(2)
    expect(await claim()).toEqual([])
    handler.resolve()
    expect(await run).toEqual({ delivered: 2, failed: [] })
  })

  it('that another caller replaced before it was received starts no handler', async () => {
    await activate(store, 'a', clock)
    const claim = store.claimEvents.bind(store)
    let calls = 0
    around(store, 'claimEvents', (claimEvents) => async (input) => {
      const events = await claimEvents(input)
      if (++calls > 1) return events
      clock.advance(60 * SECOND)
      await claim()
      return events
    })
    const seen: string[] = []
    expect(await deliver(({ object }) => void seen.push(object.key))).toEqual({ delivered: 0, failed: [] })
    expect(seen).toEqual([])
    expect(await store.countEvents()).toMatchObject({ claimed: 1 })
  })

  it('aborts the signal of its handler when another caller has the event', async () => {
    await activate(store, 'a', clock)
    around(store, 'settleEvents', (settle) => (entries) => {
      expect(entries).toEqual([])
      return settle(entries)
    })
    const handler = deferred()
    let signal: AbortSignal | undefined
    const run = deliver((_, context) => {
      signal = context.signal
      return handler.promise
    })
    await pass(1)
    clock.advance(60 * SECOND)
    const [stolen] = await store.claimEvents()
    expect(signal?.aborted).toBe(false)
    await pass(20)
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toMatchObject({ message: expect.stringContaining(stolen!.id) as string })
    handler.resolve()
    expect(await run).toEqual({ delivered: 0, failed: [] })
    expect(await store.extendClaims([stolen!])).toEqual([stolen!.id])
  })

  it('has aborted a signal that its handler reads only afterwards', async () => {
    await activate(store, 'a', clock)
    const handler = deferred()
    let reason: unknown
    const run = deliver(async (_, context) => {
      await handler.promise
      reason = context.signal.reason
    })
    await pass(1)
    clock.advance(60 * SECOND)
    const [stolen] = await store.claimEvents()
    await pass(20)
    handler.resolve()
    await run
    expect(reason).toMatchObject({ message: expect.stringContaining(stolen!.id) as string })
  })

  it('that was lost is not settled by a handler that then throws', async () => {
    await activate(store, 'a', clock)
    const run = deliver(
      (_, { signal }) =>
        new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
        ),
    )
    await pass(1)
    clock.advance(60 * SECOND)
    const [stolen] = await store.claimEvents()
    await pass(20)
    expect(await run).toEqual({ delivered: 0, failed: [] })
    const lost = expect.stringMatching(/^Claims of events were lost .* \(1 since the last report\)/) as string
    expect(errors).toMatchObject([{ message: lost }])
    expect(await store.settleEvents([stolen!])).toEqual([stolen!.id])
  })

  it('that has expired still counts if nobody else claimed the event', async () => {
    await activate(store, 'a', clock)
    const handler = deferred()
    const run = deliver(() => handler.promise)
    await pass(1)
    clock.advance(3600 * SECOND)
    handler.resolve()
    expect(await run).toEqual({ delivered: 1, failed: [] })
  })

  it('survives a failed extension, which is reported', async () => {
    await activate(store, 'a', clock)
    const down = new StorageError('DATABASE_UNAVAILABLE')
    let calls = 0
    around(store, 'extendClaims', (extend) => (entries, options) => {
      if (entries.length > 0 && ++calls === 1) return Promise.reject(down)
      return extend(entries, options)
    })
    const handler = deferred()
    const run = deliver(() => handler.promise)
    await pass(100)
    expect(await store.claimEvents()).toEqual([])
    expect(errors).toEqual([down])
    handler.resolve()
    expect((await run).delivered).toBe(1)
  })

  it('can be taken by another caller after two failed extensions, a third of its time apart', async () => {
    await activate(store, 'a', clock)
    let calls = 0
    around(store, 'extendClaims', (extend) => (entries, options) => {
      if (entries.length > 0 && ++calls <= 2) return Promise.reject(new Error('down'))
      return extend(entries, options)
    })
    const handler = deferred()
    let signal: AbortSignal | undefined
    const run = deliver((_, context) => {
      signal = context.signal
      return handler.promise
    })
    // The job claims the event now, not after the first second.
    await vi.advanceTimersByTimeAsync(0)
    await pass(59)
    clock.advance(SECOND)
    expect(await store.claimEvents()).toHaveLength(1)
    await pass(1)
    expect({ calls, isAborted: signal?.aborted }).toEqual({ calls: 3, isAborted: true })
    handler.resolve()
    expect(await run).toEqual({ delivered: 0, failed: [] })
  })

  it('is replaced by the next one of the same process, which aborts the older handler', async () => {
    await activate(store, 'a', clock)
    around(
      store,
      'extendClaims',
      (extend) => (entries, options) =>
        entries.length > 0 ? Promise.reject(new Error('down')) : extend(entries, options),
    )
    const stop = new AbortController()
    const signals: AbortSignal[] = []
    const handlers = [deferred(), deferred()]
    const run = deliver(
      (_, { signal }) => {
        signals.push(signal)
        return handlers[signals.length - 1]!.promise
      },
      { pollSeconds: 5, signal: stop.signal },
    )
    await pass(70)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    for (const { resolve } of handlers) resolve()
    stop.abort()
    expect(await run).toEqual({ delivered: 1, failed: [] })
    expect(await remaining(store)).toBe(0)
  })

  describe('of a job that polls', () => {
    it('is taken as soon as an event is due at a look', async () => {
      const stop = new AbortController()
      const seen: string[] = []
      const run = deliver(({ object }) => void seen.push(object.key), {
        pollSeconds: 10,
        signal: stop.signal,
      })
      await pass(15)
      await activate(store, 'a', clock)
      await activate(store, 'a', clock)
      await pass(4)
      expect(seen).toEqual([])
      await pass(1)
      expect(seen).toEqual(['a', 'a'])
      stop.abort()
      expect(await run).toEqual({ delivered: 2, failed: [] })
    })

    it('is settled when the database failed after it had settled others', async () => {
      for (const key of ['a', 'b', 'c']) await activate(store, key, clock)
      let calls = 0
      around(
        store,
        'settleEvents',
        (settle) => (entries) => settle(calls++ === 0 ? entries.slice(0, 1) : entries),
      )
      expect(await deliver(() => undefined)).toEqual({ delivered: 3, failed: [] })
    })

    it('is tried again while the database is away, for claims and for settlements, and reports that once', async () => {
      await activate(store, 'a', clock)
      const down = new StorageError('DATABASE_UNAVAILABLE')
      let isDown = true
      let failed = 0
      const fail = () => {
        failed++
        return Promise.reject(down)
      }
      around(store, 'claimEvents', (claim) => (input) => (isDown ? fail() : claim(input)))
      around(
        store,
        'settleEvents',
        (settle) => (entries) => (isDown && entries.length > 0 ? fail() : settle(entries)),
      )
      const stop = new AbortController()
      let seen = 0
      const run = deliver(() => void (isDown = ++seen === 1), { pollSeconds: 2, signal: stop.signal })
      await pass(5)
      expect({ seen, failed, errors }).toEqual({ seen: 0, failed: 3, errors: [down] })
      isDown = false
      await pass(10)
      expect(seen).toBe(1)
      expect(failed).toBeGreaterThan(6)
      isDown = false
      await pass(2)
      expect(await remaining(store)).toBe(0)
      stop.abort()
      expect(await run).toEqual({ delivered: 1, failed: [] })
      expect(errors).toEqual([down, down])
    })

    it('comes back later if the job is stopped while the database is away', async () => {
      await activate(store, 'a', clock)
      const down = new StorageError('DATABASE_UNAVAILABLE')
      around(
        store,
        'settleEvents',
        (settle) => (entries) => (entries.length > 0 ? Promise.reject(down) : settle(entries)),
      )
      const stop = new AbortController()
      const run = deliver(() => {}, { pollSeconds: 60, signal: stop.signal })
      await pass(1)
      stop.abort()
      expect(await run).toEqual({ delivered: 0, failed: [] })
      expect(await store.countEvents()).toMatchObject({ claimed: 1 })
      clock.advance(60 * SECOND)
      expect(await store.claimEvents()).toMatchObject([{ attempts: 2 }])
    })
  })
})
