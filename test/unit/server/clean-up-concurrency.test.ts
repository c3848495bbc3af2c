import { cleanUp, type ObjectStorage, type StorageObject } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { until } from '../../until.js'
import { deferred } from './events/changed-objects.js'
import { around, startService } from './service.js'

/** A service whose bucket holds each `head` until it is let go, the first one apart from the others. */
function heldService() {
  const [first, others] = [deferred(), deferred()]
  let heads = 0
  let running = 0
  const service = startService({
    storage: (memory): ObjectStorage => ({
      ...memory,
      async head(at) {
        running++
        await (heads++ === 0 ? first.promise : others.promise)
        running--
        return memory.head(at)
      },
    }),
  })
  return { service, first, others, heads: () => heads, running: () => running }
}

describe('cleanUp', () => {
  it('works on as many items at once as it may, and goes on to other pages while one is in progress', async () => {
    const { service, first, others, heads, running } = heldService()
    for (let count = 0; count < 10; count++) await service.as('user:1').begun()
    service.clock.advance(3 * HOUR)
    const cleaning = cleanUp(service.s3, { limit: 3, concurrency: 4 })
    await until(() => running() === 4)
    expect(heads()).toBe(4)
    others.resolve()
    await until(() => heads() === 10 && running() === 1)
    first.resolve()
    expect((await cleaning).reservations.released).toBe(10)
  })

  it('starts at most 1000 items after one that is not done', async () => {
    const { service, first, others, heads } = heldService()
    const { object } = await service.as('user:1').begun()
    const row = (await service.objects.findPending(object))!
    const COUNT = 2500
    const keyOf = (number: number) => String(number).padStart(4, '0')
    around(service.objects, 'listExpired', () => async ({ after } = {}) => {
      const start = after ? Number((after as StorageObject).key) + 1 : 0
      const length = Math.min(400, COUNT - start)
      return Promise.resolve(
        Array.from({ length }, (_, index): StorageObject => ({ ...row, key: keyOf(start + index) })),
      )
    })
    others.resolve()
    const outcomes: string[] = []
    const cleaning = cleanUp(service.s3, { onOutcome: ({ key }) => void outcomes.push(key) })
    // Looks only when nothing else is left to do, so every item that may start has done so.
    await until(() => heads() >= 1000)
    expect([heads(), outcomes.length]).toEqual([1000, 0])
    first.resolve()
    await cleaning
    expect(outcomes).toEqual(Array.from({ length: COUNT }, (_, number) => keyOf(number)))
  })
})
