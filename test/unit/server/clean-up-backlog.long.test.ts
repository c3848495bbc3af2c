import { cleanUp, type Leftover } from '@svc/db'
import { expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { heapSamples } from './heap-samples.js'
import { around, startService } from './service.js'

const MILLION = 1_000_000

it('cleanUp settles a million leftovers in flat memory, with two calls of the bucket for each', async () => {
  let calls = 0
  const service = startService({
    storage: (memory) => ({
      ...memory,
      head: () => (calls++, Promise.resolve(null)),
      multipart: { ...memory.multipart!, list: () => (calls++, Promise.resolve([])) },
    }),
  })
  const { object } = await service.as('user:1').begun()
  await service.as('user:1').abort(object)
  const [leftover] = await service.objects.listLeftovers()
  service.clock.advance(48 * HOUR)
  // A database makes its rows anew for each page.
  around(service.objects, 'listLeftovers', () => ({ limit, after } = {}) => {
    const start = after ? Number(after.attemptId) + 1 : 0
    const rows = Array.from({ length: Math.min(limit ?? 100, MILLION - start) }, (_, index): Leftover => {
      const attemptId = String(start + index).padStart(7, '0')
      return { ...leftover!, attemptId, scope: `user:${attemptId}`, storageKey: `bytes of ${attemptId}` }
    })
    return Promise.resolve(rows)
  })
  around(service.objects, 'deferLeftover', () => () => Promise.resolve(true))
  around(service.objects, 'forgetLeftover', () => () => Promise.resolve(true))

  const heap = heapSamples(200_000)
  const { leftovers } = await cleanUp(service.s3, { onProgress: heap.onProgress, concurrency: 32 })
  expect(leftovers.forgotten).toBe(MILLION)
  expect(calls).toBe(2 * MILLION)
  expect(heap.result.count).toBe(5)
  expect(heap.result.growth).toBeLessThan(8)
})
