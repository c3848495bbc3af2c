import { importObjects, type ImportObjectsOptions, type ImportObjectsResult, type JobProgress } from '@svc/db'
import fc from 'fast-check'
import { expect } from 'vitest'
import { inByteOrder } from '../../storage/object-storage-contract/listing.js'
import { around, BUCKET, startService } from '../service.js'
import { ownerFromKey, serviceOverBucket } from './bucket.js'
import { generatedBucket, keyAt } from './generated-bucket.js'

const owner = () => ({ scope: 'user:1' })

/** Stops imports anywhere and lets them go on, and expects that they record everything once. */
export async function stopAnywhere(numRuns: number): Promise<void> {
  const key = fc.string({
    unit: fc.constantFrom('a', 'b', '/', '\ufffd', '\u{10000}'),
    minLength: 1,
    maxLength: 4,
  })
  const keys = fc.uniqueArray(key, { minLength: 1, maxLength: 12 })
  const stops = fc.array(fc.nat(20), { maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(keys, stops, fc.integer({ min: 1, max: 4 }), fc.scheduler(), async (...given) => {
      const [names, stopAfter, concurrency, scheduler] = given
      const { run, objects } = await serviceOverBucket(names)
      around(objects, 'adopt', (adopt) => scheduler.scheduleFunction(adopt))
      let imported = 0
      let after: string | null = null
      const adoptedBefore = async (position: string | null) => {
        const done = inByteOrder([...names, ...(position === null ? [] : [position])])
        for (const name of done.slice(0, position === null ? 0 : done.indexOf(position) + 1)) {
          expect(await objects.findActive({ bucket: BUCKET, key: name })).toMatchObject({
            storageKey: name,
          })
        }
      }
      for (const stop of [...stopAfter, Infinity]) {
        const controller = new AbortController()
        let calls = 0
        const select: ImportObjectsOptions['select'] = () => {
          if (++calls > stop) controller.abort(new Error('stopped'))
          return owner()
        }
        const result: ImportObjectsResult = await scheduler.waitFor(
          run({ select, after, concurrency, signal: controller.signal }),
        )
        expect(result.failed).toEqual([])
        imported += result.imported
        after = result.after
        await adoptedBefore(after)
      }
      expect(after).toBe(inByteOrder(names).at(-1))
      expect(imported).toBe(names.length)
      expect(await objects.getScopeUsage('user:1')).toMatchObject({ files: names.length })
    }),
    { numRuns },
  )
}

/** Runs two imports at once, and expects that they record each item once. */
export async function importTwice(numRuns: number): Promise<void> {
  const names = Array.from({ length: 40 }, (_, index) => `k${index}`)
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const { run, objects } = await serviceOverBucket(names)
      around(objects, 'adopt', (adopt) => scheduler.scheduleFunction(adopt))
      around(objects, 'listStored', (list) => scheduler.scheduleFunction(list))
      const both = Promise.all([run({ select: owner }), run({ select: owner, concurrency: 3 })])
      const results = await scheduler.waitFor(both)
      const sum = (name: 'imported' | 'known') => results[0][name] + results[1][name]
      expect([sum('imported'), sum('known')]).toEqual([40, 40])
      expect(await objects.getScopeUsage('user:1')).toMatchObject({ files: 40 })
    }),
    { numRuns },
  )
}

/** Imports this many objects, and expects that two pages at most are in memory. With many, the rows would fill this process. */
export async function importLargeBucket(count: number, storesRows: boolean): Promise<void> {
  const { storage, listing } = generatedBucket(count)
  const service = startService({ storage: () => storage })
  const adopted = new Uint8Array(count)
  let largest = 0
  let lookups = 0
  around(service.objects, 'listStored', (list) => (input) => (lookups++, list(input)))
  around(service.objects, 'adopt', (adopt) => async (input) => {
    adopted[input.size]!++
    return storesRows ? adopt(input) : { object: null, known: false }
  })
  const onProgress = ({ done }: JobProgress) => {
    largest = Math.max(largest, listing.listed - done)
  }
  const result = await importObjects(service.s3, { select: ownerFromKey, onProgress, concurrency: 100 })
  expect(result).toMatchObject({ imported: count, failed: [], after: keyAt(count - 1) })
  // Two pages, and what is in work of the page before.
  expect(largest).toBeLessThan(2000 + 100)
  expect([listing.calls, lookups]).toEqual([count / 1000, count / 1000])
  expect(adopted.every((times) => times === 1)).toBe(true)
}
