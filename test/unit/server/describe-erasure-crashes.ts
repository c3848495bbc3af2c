import { eraseScope, type StorageObjectStore } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../conformance/clock.js'
import { Crash } from './crash.js'
import {
  expectErased,
  expectNothingAfterCleanUp,
  FILLED,
  fillScope,
  remainderOf,
  type Survivors,
} from './scope-to-erase.js'
import { createWorld, OWNER, type World, type WorldBucket } from './world.js'

export interface ErasureCrashOptions {
  /** Default: a bucket in memory. */
  readonly bucket?: WorldBucket
  /** Creates an empty store. Default: a store in memory. */
  readonly createStore?: (now: () => Date) => Promise<StorageObjectStore>
  /** Checks everything in the database and the bucket as it is stored. */
  readonly inspect?: (world: World, survivors: Survivors) => Promise<void>
  /** Stops before every n-th call only, starting in the middle of the first n. Default 1. */
  readonly step?: number
}

/** Stops `eraseScope` before each of its calls to the store and the storage, and repeats it. */
export function describeErasureCrashes({
  bucket,
  createStore,
  inspect,
  step = 1,
}: ErasureCrashOptions = {}): void {
  async function filledWorld() {
    const clock = new ManualClock()
    const world = createWorld({}, bucket, clock, await createStore?.(clock.now))
    return { world, survivors: await fillScope(world) }
  }

  /** Runs `eraseScope` in a process that stops before its call number `callsBefore + 1`. */
  async function crashingErasure(world: World, callsBefore: number) {
    const crash = new Crash(callsBefore)
    const end = await Promise.race([
      eraseScope(world.start(crash.connection).s3, { scope: OWNER }),
      crash.happened,
    ])
    return { end, calls: crash.calls }
  }

  describe('eraseScope', () => {
    it('ends in the same state if it is stopped before any call and repeated', async () => {
      const { world, survivors } = await filledWorld()
      const { end, calls } = await crashingErasure(world, Infinity)
      expect(end).toEqual(FILLED)
      const remainder = await remainderOf(world)
      expect(remainder.length).toBeGreaterThan(0)
      await expectErased(world, survivors)
      await inspect?.(world, survivors)
      await expectNothingAfterCleanUp(world)

      for (let callsBefore = Math.floor((step - 1) / 2); callsBefore < calls; callsBefore += step) {
        const { world, survivors } = await filledWorld()
        expect((await crashingErasure(world, callsBefore)).end).toBe('crashed')
        const repeated = await eraseScope(world.start().s3, { scope: OWNER })
        expect(repeated.failed).toEqual([])
        expect(await remainderOf(world)).toEqual(remainder)
        await expectErased(world, survivors)
        await expectNothingAfterCleanUp(world)
      }
    })
  })
}
