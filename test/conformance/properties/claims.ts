import fc from 'fast-check'
import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import type { StoredEvent } from '../../../src/core/store/events.js'
import type { ManualClock } from '../clock.js'
import { HOUR, SECOND } from '../clock.js'
import { ConformanceFailure, NoResponse } from '../failure.js'
import type { PropertySettings } from '../options.js'
import type { StoreFactory } from '../store-factory.js'
import { check } from './check.js'
import { ClaimLog } from './claim-log.js'

/** One thing that a worker does. */
type Work =
  | {
      readonly does: 'claim'
      readonly limit: number
      readonly seconds: number
      readonly attempted: boolean | null
    }
  | { readonly does: 'claim one'; readonly object: number; readonly seconds: number }
  /** Settles what the worker holds; with a retry in this many seconds, if it is not `null`. */
  | { readonly does: 'settle'; readonly retry: number | null }
  | { readonly does: 'extend'; readonly seconds: number }
  | { readonly does: 'wait'; readonly seconds: number }

interface ClaimProgram {
  /** The number of changes of each object. */
  readonly objects: readonly number[]
  readonly workers: readonly (readonly Work[])[]
}

const seconds = fc.constantFrom(1, 60)

const work: fc.Arbitrary<Work> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('claim' as const),
      limit: fc.integer({ min: 1, max: 3 }),
      seconds,
      attempted: fc.constantFrom(null, true, false),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('claim one' as const), object: fc.nat(2), seconds }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('settle' as const),
      retry: fc.constantFrom(null, null, null, 0, 5),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('extend' as const), seconds: fc.constant(60) }) },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('wait' as const), seconds: fc.constantFrom(1, 5, 60) }),
  },
)

const programs: fc.Arbitrary<ClaimProgram> = fc.record({
  objects: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }),
  workers: fc.array(fc.array(work, { minLength: 2, maxLength: 10 }), { minLength: 2, maxLength: 4 }),
})

/**
 * Runs workers that claim, settle and extend at the same time, while objects change and the clock moves. No two workers may
 * hold events of one object unless a claim has expired, events of an object come in order, and each is settled once.
 */
export async function checkClaims(stores: StoreFactory, settings: PropertySettings): Promise<void> {
  await check(
    stores,
    programs,
    (program) => stores.withStore(true, ({ store, clock }) => runProgram(program, store, clock)),
    settings,
  )
}

async function runProgram(
  { objects, workers }: ClaimProgram,
  store: StorageObjectStore,
  clock: ManualClock,
): Promise<void> {
  const log = new ClaimLog(clock)
  const writers = objects.map((changes, object) => changeObject(store, clock, object, changes))
  try {
    await settleAll([...writers, ...workers.map((own, worker) => runWorker(own, worker, store, clock, log))])
    await drain(store, clock, log)
  } catch (error) {
    if (error instanceof NoResponse) log.fail(error.message)
    throw error
  }
  log.checkComplete(objects)
}

const keyOf = (object: number) => ({ bucket: 'bucket', key: `object ${object}` })

/** Creates an object and replaces it, with the number of the change as its size. */
async function changeObject(
  store: StorageObjectStore,
  clock: ManualClock,
  object: number,
  changes: number,
): Promise<void> {
  for (let size = 0; size < changes; size++) {
    const at = keyOf(object)
    await store.reserve({ ...at, scope: 'scope', declaredSize: size, expiresAt: clock.in(HOUR) })
    await store.confirm({ ...at, size })
  }
}

async function runWorker(
  own: readonly Work[],
  worker: number,
  store: StorageObjectStore,
  clock: ManualClock,
  log: ClaimLog,
): Promise<void> {
  let held: StoredEvent[] = []
  for (const each of own) {
    switch (each.does) {
      case 'claim':
      case 'claim one': {
        const { limit, attempted } = { limit: 1, attempted: null, ...each }
        const reference = each.does === 'claim' ? { limit, attempted } : keyOf(each.object)
        const call = log.start(worker, each.seconds)
        const claimed = await store.claimEvents({ ...reference, claimSeconds: each.seconds })
        log.claimed(call, claimed)
        held = [...held.filter(({ id }) => !claimed.some((other) => other.id === id)), ...claimed]
        break
      }
      case 'settle': {
        const { retry } = each
        const call = log.settling(worker, held, retry !== null)
        const entries = held.map(({ id, claim }) => ({
          ...{ id, claim },
          ...(retry !== null && { retryAt: clock.in(retry * SECOND) }),
        }))
        log.settled(call, await store.settleEvents(entries))
        held = []
        break
      }
      case 'extend': {
        const call = log.start(worker, each.seconds)
        const entries = held.map(({ id, claim }) => ({ id, claim }))
        log.extended(call, held, await store.extendClaims(entries, { claimSeconds: each.seconds }))
        break
      }
      case 'wait':
        clock.advance(each.seconds * SECOND)
    }
  }
}

/** Settles everything that is left, one after the other. */
async function drain(store: StorageObjectStore, clock: ManualClock, log: ClaimLog): Promise<void> {
  clock.advance(HOUR)
  for (let rounds = 0; rounds < 100; rounds++) {
    const call = log.start(-1, 60)
    const claimed = await store.claimEvents({ limit: 1000 })
    log.claimed(call, claimed)
    if (claimed.length === 0) return
    const settling = log.settling(-1, claimed, false)
    log.settled(settling, await store.settleEvents(claimed.map(({ id, claim }) => ({ id, claim }))))
  }
  throw new ConformanceFailure('Events could still be claimed after 100 rounds in which all were settled.')
}

/** Waits for all, then throws the first error, so that no call runs on when the store is closed. */
async function settleAll(promises: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(promises)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}
