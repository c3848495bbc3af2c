import { cleanUp } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { expect, it } from 'vitest'
import { HOUR, ManualClock } from '../../conformance/clock.js'
import { heapSamples } from './heap-samples.js'
import { BUCKET, startService } from './service.js'

const DUE = 100_000

it('cleanUp removes 100,000 objects past their end in flat memory', async () => {
  const clock = new ManualClock()
  const temporaryUntil = clock.in(HOUR)
  const seeds = Array.from({ length: DUE }, (_, index) => {
    const owner = { scope: `user:${index % 1000}`, bucket: BUCKET, key: `drafts/${index}` }
    return { ...owner, size: 1, storageKey: `bytes of ${index}`, temporaryUntil }
  })
  const asked = { calls: 0, objects: 0 }
  const service = startService({
    ...{ clock, objects: memoryAdapter({ now: clock.now, objects: seeds.splice(0) }), deleteMode: 'hard' },
    isUsed(objects) {
      asked.calls++
      asked.objects += objects.length
      return []
    },
  })
  clock.advance(2 * HOUR)
  const heap = heapSamples(20_000)
  const { temporary } = await cleanUp(service.s3, { onProgress: heap.onProgress })
  expect(temporary).toEqual({ removed: DUE, kept: 0, failed: 0 })
  expect(asked).toEqual({ calls: DUE / 100, objects: DUE })
  // The clock stands still, so their leftovers are due in the same run.
  expect(heap.result.count).toBe(10)
  // The store is in the heap: a leftover with its dates takes more than the object in whose place it is. Rows that a job keeps add 38 MiB.
  expect(heap.result.growth).toBeLessThan(24)
  expect(await service.objects.listTemporary()).toEqual([])
  expect(await service.objects.checkUsage()).toEqual([])
})
