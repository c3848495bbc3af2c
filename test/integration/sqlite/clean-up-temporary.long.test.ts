import { cleanUp } from '@svc/db'
import { afterAll, expect, it } from 'vitest'
import { HOUR, ManualClock } from '../../conformance/clock.js'
import { heapSamples } from '../../unit/server/heap-samples.js'
import { BUCKET, startService } from '../../unit/server/service.js'
import { databaseFolder } from './files.js'

const DUE = 100_000

const folder = databaseFolder()
afterAll(() => folder.drop())

it('cleanUp removes 100,000 objects past their end in flat memory', async () => {
  const clock = new ManualClock()
  // Not the store in memory, whose leftovers are larger than the objects in whose place they are.
  const objects = await folder.create({ now: clock.now })
  for (let index = 0; index < DUE; index++) {
    const reference = { bucket: BUCKET, key: `drafts/${index}` }
    const owner = { scope: `user:${index % 1000}`, storageKey: `bytes of ${index}` }
    const terms = { declaredSize: 1, expiresAt: clock.in(HOUR), temporarySeconds: 3600 }
    const { id } = await objects.reserve({ ...reference, ...owner, ...terms })
    await objects.confirm({ ...reference, id, size: 1 })
  }
  const asked = { calls: 0, objects: 0 }
  const service = startService({
    ...{ clock, objects, deleteMode: 'hard' },
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
  expect(heap.result.growth).toBeLessThan(8)
  expect(await objects.listTemporary()).toEqual([])
  expect(await objects.checkUsage()).toEqual([])
})
