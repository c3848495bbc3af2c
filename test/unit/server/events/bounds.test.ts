import { deliverEvents, type EventHandler, type StoredEvent } from '@svc/db'
import { beforeEach, describe, expect, it } from 'vitest'
import { SECOND } from '../../../conformance/clock.js'
import { around, startService } from '../service.js'
import { activate, at, deferred, recordingStore, remaining, until } from './changed-objects.js'
import { withFakeTimers } from './fake-timers.js'

const MINUTE = 60

describe('delivery', () => {
  let { store, clock } = recordingStore()
  let errors: { readonly message: string; readonly key: string | undefined }[] = []
  const pass = withFakeTimers(() => clock)
  beforeEach(() => {
    ;({ store, clock } = recordingStore())
    errors = []
  })

  const deliver = (onEvent: EventHandler, options: object = {}) =>
    deliverEvents(store, {
      onEvent,
      onError: (error, { event }) =>
        void errors.push({ message: (error as Error).message, key: event?.object.key }),
      now: clock.now,
      ...options,
    })

  describe('of a handler that never returns', () => {
    const hangs = () => new Promise<never>(() => {})

    it('fails after handlerSeconds, which frees its place for others', async () => {
      for (const key of ['hangs', 'other']) await activate(store, key, clock)
      const seen: string[] = []
      let signal: AbortSignal | undefined
      const onEvent: EventHandler = ({ object }, context) => {
        seen.push(object.key)
        if (object.key === 'other') return undefined
        signal = context.signal
        return hangs()
      }
      const run = deliver(onEvent, { concurrency: 1, handlerSeconds: 5 })
      await pass(4)
      expect({ seen, isAborted: signal?.aborted }).toEqual({ seen: ['hangs'], isAborted: false })
      await pass(1)
      expect(await run).toEqual({
        delivered: 1,
        failed: [{ ...at('hangs'), error: signal?.reason as Error }],
      })
      const message = expect.stringMatching(
        /^The handler of event .* did not end within 5 seconds\.$/,
      ) as string
      expect(errors).toEqual([{ message, key: 'hangs' }])
      expect(await store.countEvents()).toEqual({ waiting: 0, claimed: 0, retrying: 1 })
    })

    it('is reported once after ten minutes, and fails after an hour by default', async () => {
      await activate(store, 'a', clock)
      const run = deliver(hangs)
      await pass(10 * MINUTE - 1)
      expect(errors).toEqual([])
      await pass(1)
      const tenMinutes = expect.stringMatching(
        / has been running for 10 minutes\. After 3600 seconds, /,
      ) as string
      expect(errors).toEqual([{ message: tenMinutes, key: 'a' }])
      await pass(50 * MINUTE - 10, 10)
      expect(errors).toHaveLength(1)
      await pass(10)
      expect((await run).failed).toHaveLength(1)
      expect(errors).toHaveLength(2)
    })

    it('is given up by a server, too', async () => {
      const service = startService({ objects: store, clock, onEvent: hangs, handlerSeconds: 5 })
      await service.as('user:1').upload()
      await pass(5)
      await until(async () => (await store.countEvents()).retrying === 1)
      expect(await service.reportedBy('deliverEvents')).toEqual([
        expect.objectContaining({
          message: expect.stringMatching(/did not end within 5 seconds/) as string,
        }),
      ])
    })

    it('has 30 seconds once the job is stopped, and comes back when its claim ends', async () => {
      for (const key of ['a', 'b']) await activate(store, key, clock)
      const stop = new AbortController()
      const signals: AbortSignal[] = []
      let isOver = false
      const onEvent: EventHandler = (_, { signal }) => {
        signals.push(signal)
        return hangs()
      }
      const run = deliver(onEvent, { pollSeconds: 5, signal: stop.signal }).finally(() => (isOver = true))
      await pass(1)
      stop.abort()
      await pass(29)
      expect({ isOver, aborted: signals.map(({ aborted }) => aborted) }).toEqual({
        isOver: false,
        aborted: [false, false],
      })
      await pass(1)
      expect(await run).toEqual({ delivered: 0, failed: [] })
      expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
      expect(errors.map(({ message }) => message)).toEqual([
        'The job ended 30 seconds after its signal aborted, while 2 handlers were still running. Their events are delivered again.',
      ])
      await pass(MINUTE)
      expect(await store.claimEvents()).toMatchObject([{ attempts: 2 }, { attempts: 2 }])
    })
  })

  it('ends 30 seconds after it was stopped, although the database does not respond', async () => {
    const stop = new AbortController()
    around(store, 'claimEvents', () => () => new Promise(() => {}))
    const run = deliver(() => {}, { pollSeconds: 5, signal: stop.signal })
    await pass(1)
    stop.abort()
    await pass(30)
    expect(await run).toEqual({ delivered: 0, failed: [] })
  })

  describe('while a receiver is down', () => {
    /** Lets as many events fail once, so they wait for a retry that is due. */
    async function failed(count: number): Promise<void> {
      for (let i = 0; i < count; i++) await activate(store, `down ${i}`, clock)
      await deliver(() => Promise.reject(new Error('down')), { concurrency: 100 })
      clock.advance(MINUTE * SECOND)
      errors = []
    }

    it('keeps half of the places for events that were never claimed', async () => {
      await failed(20)
      const stop = new AbortController()
      const handlers = deferred()
      const running: string[] = []
      const onEvent: EventHandler = ({ object }) => {
        running.push(object.key)
        return handlers.promise
      }
      const run = deliver(onEvent, { pollSeconds: 1, signal: stop.signal })
      await pass(3)
      expect(running).toHaveLength(4)
      for (let i = 0; i < 6; i++) await activate(store, `new ${i}`, clock)
      await pass(1)
      expect(running.slice(4)).toEqual(['new 0', 'new 1', 'new 2', 'new 3'])
      stop.abort()
      handlers.resolve()
      expect(await run).toEqual({ delivered: 8, failed: [] })
    })

    it.each([1, 2, 3])(
      'takes turns if there are %s places, so neither kind waits for all of the other',
      async (concurrency) => {
        await failed(20)
        for (let i = 0; i < 20; i++) await activate(store, `new ${i}`, clock)
        const seen: string[] = []
        expect(
          await deliver(({ object }) => void seen.push(object.key.split(' ')[0]!), { concurrency }),
        ).toEqual({
          delivered: 40,
          failed: [],
        })
        const count = (kind: string) => seen.slice(0, 20).filter((each) => each === kind).length
        expect(count('new')).toBeGreaterThanOrEqual(9)
        expect(count('down')).toBeGreaterThanOrEqual(3)
      },
    )
  })

  describe('of a handler that changes its own object', () => {
    it.each([0, 1])(
      'waits after 20 changes within a minute, and is reported once: %i ms each',
      async (time) => {
        const changes = async ({ object }: StoredEvent) => {
          clock.advance(time)
          await store.update({ ...at(object.key), metadata: { calls: String(calls) } })
        }
        for (const key of ['a', 'b']) await activate(store, key, clock)
        let calls = 0
        const onEvent: EventHandler = (event) =>
          event.object.key === 'a' ? ++calls && changes(event) : undefined
        // Its jobs know of each other's handlers.
        const { s3, reported } = startService({ objects: store, clock, onEvent })
        const { delivered, failed } = await deliverEvents(s3)
        expect({ calls, delivered, failed: failed.length }).toEqual({ calls: 21, delivered: 22, failed: 1 })
        const message = expect.stringMatching(
          /^The handler changed a, the object of its event, 21 times/,
        ) as string
        expect(reported).toMatchObject([{ error: { message }, operation: 'deliverEvents' }])
        for (let retry = 0; retry < 5; retry++) {
          clock.moveTo((await store.listEvents()).items[0]!.dueAt)
          await deliverEvents(s3)
        }
        expect({ calls, errors: reported.length }).toEqual({ calls: 21, errors: 1 })
        clock.advance(MINUTE * SECOND)
        await deliverEvents(s3)
        expect({ calls, errors: reported.length }).toEqual({ calls: 42, errors: 2 })
      },
    )

    it('does not wait if others change the object, or if it changes others', async () => {
      for (let i = 0; i < 50; i++) {
        await activate(store, 'a', clock)
        clock.advance(1)
      }
      let others = 0
      const onEvent: EventHandler = async ({ object }) => {
        clock.advance(1)
        if (object.key === 'a') await activate(store, `other ${others++}`, clock)
      }
      expect(await deliver(onEvent)).toEqual({ delivered: 100, failed: [] })
    })
  })

  describe('of handlers that block the event loop', () => {
    /** Blocks for this long, as the clock of the job sees it. Timers only run once the loop turns. */
    const blocks = (seconds: number) => clock.advance(seconds * SECOND)

    it('extends the claims in between, so no other process gets the events', async () => {
      for (let i = 0; i < 8; i++) await activate(store, `key ${i}`, clock)
      const claim = store.claimEvents.bind(store)
      const others: StoredEvent[] = []
      const run = deliver(async () => {
        blocks(30)
        others.push(...(await claim()))
      })
      expect(await run).toEqual({ delivered: 8, failed: [] })
      expect(others).toEqual([])
      expect(errors).toEqual([])
    })

    it('reports lost claims at most every ten minutes, with their number', async () => {
      const claim = store.claimEvents.bind(store)
      const run = async () => {
        const stop = new AbortController()
        const job = deliver(
          async () => {
            blocks(61)
            await claim()
          },
          { pollSeconds: 1000, signal: stop.signal },
        )
        await pass(1)
        for (let minutes = 0; minutes < 40; minutes++) {
          await activate(store, `key ${minutes}`, clock)
          await pass(MINUTE, MINUTE)
        }
        stop.abort()
        return job
      }
      expect(await run()).toMatchObject({ delivered: 0 })
      const counts = errors.map(({ message }) => Number(/\((\d+) since the last report\)/.exec(message)?.[1]))
      expect(counts[0]).toBe(1)
      expect(counts.length).toBeLessThan(8)
      expect(await remaining(store)).toBe(40)
    })

    it('starts no further handler once the job is stopped, and puts those events back', async () => {
      for (const key of ['a', 'b', 'c']) await activate(store, key, clock)
      const stop = new AbortController()
      const seen: string[] = []
      const onEvent: EventHandler = ({ object }) => {
        seen.push(object.key)
        stop.abort()
      }
      expect(await deliver(onEvent, { signal: stop.signal })).toEqual({ delivered: 1, failed: [] })
      expect(seen).toEqual(['a'])
      expect(await store.claimEvents()).toHaveLength(2)
    })
  })
})
