import { deliverEvents, type StorageObjectStore } from '@svc/db'
import { expect, it } from 'vitest'
import { EventRunner } from '../../../../src/server/events/runner.js'
import type { ManualClock } from '../../../conformance/clock.js'
import { activate, at, remaining, until } from './changed-objects.js'

/** A store that records events, and its clock. */
export interface RecordingStore {
  readonly store: StorageObjectStore
  readonly clock: ManualClock
}

const PLACES = 8
const HANDLER_MILLISECONDS = 500
const HOT = 'owner of hot objects'
const OTHER = 'another owner'

/** Handlers that each take half a second of the clock. */
class Handlers {
  readonly #clock: ManualClock
  readonly #ends: (() => void)[] = []
  readonly scopes: string[] = []

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  readonly onEvent = ({ object }: { readonly object: { readonly scope: string } }) => {
    this.scopes.push(object.scope)
    return new Promise<void>((resolve) => void this.#ends.push(resolve))
  }

  get running(): number {
    return this.#ends.length
  }

  /** Ends all running handlers together, when half a second has passed. */
  endTogether(): void {
    this.#clock.advance(HANDLER_MILLISECONDS)
    for (const end of this.#ends.splice(0)) end()
  }

  /** Ends the handler that has run longest, which leaves the others running. */
  endOne(): void {
    this.#clock.advance(HANDLER_MILLISECONDS / PLACES)
    this.#ends.shift()?.()
  }

  async endAll(isOver: () => boolean | Promise<boolean>): Promise<void> {
    await until(async () => {
      this.endTogether()
      return isOver()
    })
  }
}

const ENDINGS = ['endTogether', 'endOne'] as const

/** Registers the tests of fair delivery, for stores of one adapter. */
export function testFairDelivery(newStore: () => RecordingStore): void {
  const cases = [8, 100].flatMap((objects) => ENDINGS.map((ending) => ({ objects, ending })))

  async function change({ store, clock }: RecordingStore, objects: number, times: number): Promise<void> {
    for (let i = 0; i < times * objects; i++) await activate(store, `hot ${i % objects}`, clock, HOT)
  }

  /** Returns how many handlers started between a change of the other owner and its handler, while the hot objects keep all places busy. */
  async function startsBefore(
    { store, clock }: RecordingStore,
    handlers: Handlers,
    ending: (typeof ENDINGS)[number],
    changed: () => void,
  ): Promise<number> {
    const areBusy = () => handlers.running === PLACES
    for (let round = 0; round < 2 * PLACES; round++) {
      await until(areBusy)
      handlers.endOne()
    }
    await until(areBusy)
    const before = handlers.scopes.length
    await activate(store, 'other', clock, OTHER)
    changed()
    while (!handlers.scopes.includes(OTHER)) {
      handlers[ending]()
      await until(() => areBusy() || handlers.scopes.includes(OTHER))
    }
    return handlers.scopes.indexOf(OTHER) - before
  }

  it.each(cases)(
    "starts another owner's event within two handlers' time in the job: $objects hot objects, $ending",
    async ({ objects, ending }) => {
      const place = newStore()
      await change(place, objects, Math.ceil(160 / objects))
      const handlers = new Handlers(place.clock)
      const stop = new AbortController()
      const { onEvent } = handlers
      const options = { onEvent, now: place.clock.now, pollSeconds: 5, signal: stop.signal }
      let isOver = false
      const job = deliverEvents(place.store, options).finally(() => (isOver = true))
      const starts = await startsBefore(place, handlers, ending, () => undefined)
      expect(starts).toBeLessThan(2 * PLACES)
      stop.abort()
      await handlers.endAll(() => isOver)
      await job
    },
  )

  it.each(cases)(
    "starts another owner's event within two handlers' time after changes: $objects hot objects, $ending",
    async ({ objects, ending }) => {
      const place = newStore()
      const { store, clock } = place
      await change(place, objects, Math.ceil(160 / objects))
      const handlers = new Handlers(clock)
      const report = () => expect.unreachable()
      const runner = new EventRunner({
        store,
        onEvent: handlers.onEvent,
        report,
        now: clock.now,
        handlerSeconds: 3600,
      })
      for (let i = 0; i < objects; i++) runner.changed({ scope: HOT, ...at(`hot ${i}`) })
      const starts = await startsBefore(place, handlers, ending, () =>
        runner.changed({ scope: OTHER, ...at('other') }),
      )
      expect(starts).toBeLessThan(2 * PLACES)
      await handlers.endAll(async () => (await remaining(store)) === 0)
      await runner.idle()
    },
  )

  it.each([2, 25])(
    'holds back a handler that changes its object %s times in each run, and reports it once',
    async (changes) => {
      const { store, clock } = newStore()
      for (const key of ['a', 'b']) await activate(store, key, clock)
      const errors: string[] = []
      const stop = new AbortController()
      let calls = 0
      const { delivered, failed } = await deliverEvents(store, {
        async onEvent({ object }) {
          clock.advance(1)
          if (object.key !== 'a') return
          // Nothing else would end it.
          if (++calls === 100) stop.abort()
          for (let i = 0; i < changes; i++) {
            await store.update({ ...at('a'), metadata: { change: `${calls}.${i}` } })
          }
        },
        onError: (error) => void errors.push((error as Error).message),
        now: clock.now,
        signal: stop.signal,
      })
      expect(calls).toBeLessThan(50)
      expect({ delivered, failed: failed.length }).toEqual({ delivered: calls + 1, failed: 1 })
      expect(errors).toEqual([
        expect.stringMatching(/^The handler changed a, the object of its event, \d+ times/),
      ])
      expect(await remaining(store)).toBe(1 + calls * changes - calls)
    },
  )

  it('does not hold back handlers of a busy object that others change meanwhile', async () => {
    const { store, clock } = newStore()
    for (let i = 0; i < 60; i++) {
      await activate(store, 'a', clock)
      clock.advance(1)
    }
    let runs = 0
    const onEvent = async () => {
      clock.advance(HANDLER_MILLISECONDS)
      // Two a second, as in a form that saves itself.
      if (++runs % 2 === 0 && runs < 100) await activate(store, 'a', clock)
    }
    const { delivered, failed } = await deliverEvents(store, { onEvent, now: clock.now })
    expect({ delivered, failed }).toEqual({ delivered: runs, failed: [] })
    expect(await remaining(store)).toBe(0)
  })
}
