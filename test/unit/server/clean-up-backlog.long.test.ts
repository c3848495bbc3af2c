import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { cleanUp, type Leftover } from '@svc/db'
import { expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { around, startService } from './service.js'

const MILLION = 1_000_000
const MIB = 1024 ** 2

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

  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const heap: number[] = []
  const onProgress = ({ done }: { done: number }) => {
    if (done % 200_000 !== 0) return
    collect()
    heap.push(process.memoryUsage().heapUsed)
  }
  const { leftovers } = await cleanUp(service.s3, { onProgress, concurrency: 32 })
  expect(leftovers.forgotten).toBe(MILLION)
  expect(calls).toBe(2 * MILLION)
  expect(heap).toHaveLength(5)
  expect((Math.max(...heap) - heap[0]!) / MIB).toBeLessThan(8)
})
