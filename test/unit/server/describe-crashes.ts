import { cleanUp } from '@svc/db'
import { describe, expect, it } from 'vitest'
import type { CrashFlow } from './crash-flows.js'
import { Crash } from './crash.js'
import {
  cleanUpUntilDone,
  contentOf,
  createWorld,
  expectConsistent,
  LATER,
  type WorldBucket,
} from './world.js'

export interface CrashOptions {
  /** Default: a bucket in memory. */
  readonly bucket?: WorldBucket
  /** Also stops the job that follows the crash, before each of up to this many calls. */
  readonly maxJobCalls?: number
  /** Stops before every n-th call only; each test starts at another call. Default 1. */
  readonly step?: number
}

/** Stops a process before each of its calls to the storage and the store, in each of the flows. */
export function describeCrashes(
  flows: Readonly<Record<string, CrashFlow>>,
  { bucket, maxJobCalls, step = 1 }: CrashOptions = {},
): void {
  describe.each(Object.entries(flows))('a process that crashes during %s', (_, flow) => {
    it('leaves a state that a retry and cleanUp make consistent', async () => {
      await forEachCrash(0, async ({ callsBefore, calls }) => {
        const { world, subject, crashed } = await worldAfterCrash(flow, callsBefore, bucket)
        expect(crashed).toBe(callsBefore < calls)
        // Active objects can be downloaded at any time.
        await contentOf(world)
        expect(flow.retryStatuses).toContain(await flow.act(world.start(), subject))
        await cleanUpUntilDone(world)
        expect(flow.finalContent.afterRetry).toContain(await contentOf(world))
        await expectConsistent(world)
      })
    })

    it('leaves a state that cleanUp alone makes consistent', async () => {
      await forEachCrash(1, async ({ callsBefore }) => {
        const { world } = await worldAfterCrash(flow, callsBefore, bucket)
        await contentOf(world)
        await cleanUpUntilDone(world)
        expect(flow.finalContent.withoutRetry).toContain(await contentOf(world))
        await expectConsistent(world)
      })
    })

    if (maxJobCalls === undefined) return
    it('leaves a state that cleanUp makes consistent even if cleanUp crashes once', async () => {
      await forEachCrash(0, async ({ callsBefore }) => {
        // Steps start at a different call of the job for each call of the flow.
        for (let jobCalls = callsBefore % step; jobCalls < maxJobCalls; jobCalls += step) {
          const { world } = await worldAfterCrash(flow, callsBefore, bucket)
          world.clock.advance(LATER)
          const crash = new Crash(jobCalls)
          const end = await Promise.race([cleanUp(world.start(crash.connection).s3), crash.happened])
          await contentOf(world)
          await cleanUpUntilDone(world)
          expect(flow.finalContent.withoutRetry).toContain(await contentOf(world))
          await expectConsistent(world)
          // The job makes no more calls than this.
          if (end !== 'crashed') return
        }
      })
    })

    /** Runs for a crash before each call of the flow, and after the last one. A few run concurrently. */
    async function forEachCrash(
      offset: number,
      run: (crash: { readonly callsBefore: number; readonly calls: number }) => Promise<void>,
    ): Promise<void> {
      const { calls } = await worldAfterCrash(flow, Infinity, bucket)
      expect(calls).toBeGreaterThan(0)
      let next = offset % step
      const worker = async () => {
        while (next <= calls) {
          const callsBefore = next
          next += step
          await run({ callsBefore, calls })
        }
      }
      await Promise.all(Array.from({ length: 4 }, worker))
    }
  })
}

/** Creates a world in which a process crashed before its call number `callsBefore + 1`, or completed. */
async function worldAfterCrash(
  { options = {}, prepare, act }: CrashFlow,
  callsBefore: number,
  bucket?: WorldBucket,
) {
  const world = createWorld(options, bucket)
  const subject = await prepare(world.start(), world)
  const crash = new Crash(callsBefore)
  const end = await Promise.race([act(world.start(crash.connection), subject), crash.happened])
  return { world, subject, crashed: end === 'crashed', calls: crash.calls }
}
