import { cleanUp, type ObjectStorage } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../conformance/clock.js'
import { until } from '../../until.js'
import { deferred } from './events/changed-objects.js'
import { startService, type Service } from './service.js'

/** Servers on one database and one bucket, like processes. `calls` names the key of each call of the bucket. */
function processes(count: number, wrapped: (storage: ObjectStorage) => ObjectStorage = (storage) => storage) {
  const calls: string[] = []
  const counted = (storage: ObjectStorage): ObjectStorage => ({
    ...storage,
    head: (at) => (calls.push(`head ${at.key}`), storage.head(at)),
    multipart: {
      ...storage.multipart!,
      list: (at) => (calls.push(`list ${at.key}`), storage.multipart!.list(at)),
    },
  })
  const first = startService({ storage: (memory) => wrapped(counted(memory)) })
  const { objects, clock, storage } = first
  const others = Array.from({ length: count - 1 }, () =>
    startService({ objects, clock, storage: () => storage }),
  )
  return { first, all: [first, ...others], calls, clock }
}

async function abortUploads(service: Service, count: number) {
  for (let number = 0; number < count; number++) {
    const { object } = await service.as('user:1').begun()
    await service.as('user:1').abort(object)
  }
}

describe('runs of cleanUp that start together', () => {
  it('share the leftovers, and one run looks at each', async () => {
    const { first, all, calls, clock } = processes(3)
    await abortUploads(first, 250)
    clock.advance(3 * HOUR)
    const results = await Promise.all(all.map(({ s3 }) => cleanUp(s3)))
    expect(results.map(({ leftovers }) => leftovers.forgotten).reduce((sum, count) => sum + count)).toBe(250)
    expect(new Set(calls).size).toBe(2 * 250)
    expect(calls).toHaveLength(2 * 250)
    for (const { reported } of all) expect(reported).toEqual([])
  })

  it('settle each reservation once, and ask the bucket about it at most once each', async () => {
    const { first, all, calls, clock } = processes(3)
    for (let number = 0; number < 120; number++) await first.as('user:1').begun()
    clock.advance(3 * HOUR)
    const results = await Promise.all(all.map(({ s3 }) => cleanUp(s3)))
    const sum = (of: 'released' | 'gone' | 'failed') =>
      results.reduce((total, { reservations }) => total + reservations[of], 0)
    expect([sum('released'), sum('failed')]).toEqual([120, 0])
    const heads = calls.filter((call) => call.startsWith('head'))
    expect(heads).toHaveLength(120 + sum('gone'))
    expect(new Set(heads).size).toBe(120)
  })

  it('take over what a process had begun five minutes after it has died', async () => {
    const gone = deferred()
    let isHanging = true
    const { first, all, clock } = processes(2, (storage) => ({
      ...storage,
      head: async (at) => {
        if (isHanging) await gone.promise
        return storage.head(at)
      },
    }))
    await abortUploads(first, 3)
    clock.advance(3 * HOUR)
    const dead = cleanUp(first.s3, { concurrency: 2 })
    await until(async () => (await first.objects.listLeftovers({ dueBefore: clock.now() })).length === 1)
    isHanging = false
    const forgotten = async () => (await cleanUp(all[1]!.s3)).leftovers.forgotten
    expect(await forgotten()).toBe(1)
    clock.advance(5 * MINUTE - 1)
    expect(await forgotten()).toBe(0)
    clock.advance(1)
    expect(await forgotten()).toBe(2)
    gone.resolve()
    await dead
    expect(await first.objects.listLeftovers()).toEqual([])
  })
})
