import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createWriteBatcher, type BatchRecovery } from '../../../../../src/adapters/shared/write-batcher.js'
import { pendingCallbacks } from './batch-runner.js'

interface RandomJob {
  readonly index: number
  readonly queue: number
  readonly conflictKey: number
  /** `poisoned` makes its whole batch fail. */
  readonly kind: 'sound' | 'refused' | 'poisoned'
}

const MAX_TOGETHER = 3

const jobs = fc
  .array(
    fc.record({
      queue: fc.nat(2),
      conflictKey: fc.nat(3),
      kind: fc.constantFrom('sound', 'sound', 'refused', 'poisoned' as const),
    }),
    { maxLength: 25 },
  )
  .map((list) => list.map((job, index): RandomJob => ({ ...job, index })))

it('each job has its own effect or error, in order, in any batch', async () => {
  const policies = fc.constantFrom<BatchRecovery>('sequential', 'concurrent')
  const gatherings = fc.integer({ min: 1, max: 3 })
  await fc.assert(
    fc.asyncProperty(
      jobs,
      policies,
      gatherings,
      fc.scheduler(),
      async (list, policy, batchThreshold, scheduler) => {
        const effects: RandomJob[] = []
        const faults: string[] = []
        const inFlight: RandomJob[] = []
        const batcher = createWriteBatcher<RandomJob, number>({
          maxBatchSize: MAX_TOGETHER,
          batchThreshold,
          conflictKeyOf: ({ conflictKey }) => `${conflictKey}`,
          recoveryFrom: () => policy,
          async run(batch) {
            const { queue } = batch[0]!
            const others = inFlight.filter((job) => job.queue === queue)
            // Collected, because an error thrown here would count as a failed batch and be retried.
            if (batch.some((job) => job.queue !== queue)) faults.push('a batch of two batcher')
            if (batch.length > MAX_TOGETHER) faults.push('a batch that is too large')
            const together = [...batch, ...others].map(({ conflictKey }) => conflictKey)
            if (new Set(together).size < together.length) faults.push('one conflictKey twice in flight')
            // Jobs that run alone after a failure may run concurrently.
            if (others.length >= batchThreshold && (policy === 'sequential' || batch.length > 1))
              faults.push('a batch that did not wait')
            inFlight.push(...batch)
            await scheduler.schedule(Promise.resolve())
            for (const job of batch) inFlight.splice(inFlight.indexOf(job), 1)
            const poisoned = batch.find(({ kind }) => kind === 'poisoned')
            if (poisoned) throw new Error(`poisoned by ${poisoned.index}`)
            effects.push(...batch.filter(({ kind }) => kind === 'sound'))
            return batch.map(({ kind, index }) =>
              kind === 'refused'
                ? { status: 'rejected', reason: new Error(`refused ${index}`) }
                : { status: 'fulfilled', value: index },
            )
          },
        })

        const calls: Promise<number>[] = []
        const arrivals = scheduler.scheduleSequence(
          list.map((job) => async () => {
            calls.push(batcher.run(`${job.queue}`, job))
          }),
        )
        await scheduler.waitFor(arrivals.task)
        const results = await scheduler.waitFor(Promise.allSettled(calls))

        results.forEach((result, index) => {
          const { kind } = list[index]!
          if (kind === 'sound') expect(result).toEqual({ status: 'fulfilled', value: index })
          else {
            const message = kind === 'refused' ? `refused ${index}` : `poisoned by ${index}`
            expect(result).toEqual({ status: 'rejected', reason: new Error(message) })
          }
        })
        const sound = list.filter(({ kind }) => kind === 'sound')
        expect([...effects].sort((a, b) => a.index - b.index)).toEqual(sound)
        for (const { queue, conflictKey } of list) {
          // Among concurrent jobs, only those with the same conflict key have an order.
          const inTurn = policy === 'sequential' && batchThreshold === 1
          const sameOrder = (job: RandomJob) =>
            job.queue === queue && (inTurn || job.conflictKey === conflictKey)
          expect(effects.filter(sameOrder)).toEqual(sound.filter(sameOrder))
        }
        expect(faults).toEqual([])
        await pendingCallbacks()
        expect(batcher.busyQueues).toBe(0)
      },
    ),
  )
})
