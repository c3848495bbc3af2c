import {
  cleanUp,
  importObjects,
  type ImportObjectsOptions,
  type ImportObjectsResult,
  type JobProgress,
} from '@svc/db'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isLongRun, runs } from '../../../long-runs.js'
import { HOUR } from '../../../conformance/clock.js'
import { inByteOrder } from '../../storage/object-storage-contract/listing.js'
import { around, BUCKET, bytesOfSize, expectStatus, outcomesOf, startService } from '../service.js'
import { ownerFromKey, serviceOverBucket, store } from './bucket.js'
import { generatedBucket, keyAt } from './generated-bucket.js'

const owner = () => ({ scope: 'user:1' })

describe('importObjects, stopped or beside other work,', () => {
  it('records everything once if it is stopped anywhere and goes on', async () => {
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
      { numRuns: runs(50, 2000) },
    )
  })

  it('does nothing if it is stopped before it starts', async () => {
    const { run } = await serviceOverBucket(['a'])
    expect(await run({ signal: AbortSignal.abort(), after: 'A' })).toEqual({
      imported: 0,
      known: 0,
      skipped: 0,
      failed: [],
      after: 'A',
    })
  })

  it('records each item once if two run at once', async () => {
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
      { numRuns: runs(5, 200) },
    )
  })

  it('takes nothing from uploads and cleanUp beside it', async () => {
    const { run, as, s3, storage, clock, objects } = await serviceOverBucket(['users/1/a', 'users/1/b'])
    const select = ({ key }: { readonly key: string }) => ownerFromKey({ key }) ?? { scope: 'thief' }
    // Unfinished: its bytes are in the bucket, and an import must not take them.
    const begun = await as('user:2').begun()
    await as('user:2').put(begun.upload, bytesOfSize(3))
    const [result, uploaded] = await Promise.all([
      run({ select }),
      as('user:3').upload(),
      as('user:1').upload(),
      cleanUp(s3),
    ])
    expect(result).toMatchObject({ imported: 2, failed: [] })
    await expectStatus(await as('user:2').confirm(begun.object), 200)
    clock.advance(48 * HOUR)
    await run({ select })
    const { reservations, leftovers } = await cleanUp(s3)
    expect([reservations, leftovers].map(outcomesOf)).toEqual([[], []])
    expect(await objects.getScopeUsage('thief')).toMatchObject({ files: 0 })
    expect(await as('user:3').bytes(uploaded.key)).toEqual(bytesOfSize(3))
    expect(await storage.head({ bucket: BUCKET, key: 'users/1/a' })).not.toBeNull()
  })

  it('makes objects that download, are replaced and are deleted with their bytes', async () => {
    const key = 'users/1/report'
    const routes = { docs: { key: () => key, overwrite: true } }
    const { run, as, s3, storage, clock } = await serviceOverBucket([key, 'users/1/other'], { routes })
    await run({
      select: (item) => ({ ...ownerFromKey(item)!, filename: 'r.txt', contentType: 'text/plain' }),
    })
    const mine = as('user:1')
    expect(new TextDecoder().decode(await mine.bytes(key))).toBe(key)
    expect((await as('user:2').download(key)).status).toBe(404)
    await mine.upload({ route: 'docs' })
    expect(await mine.bytes(key)).toEqual(bytesOfSize(3))
    await expectStatus(await mine.delete('users/1/other'), 204)
    await s3.files.delete({ key, scope: 'user:1' })
    clock.advance(48 * HOUR)
    await cleanUp(s3)
    expect(await storage.list!({ bucket: BUCKET, limit: 10 })).toEqual({ items: [], next: null })
    expect(await run()).toMatchObject({ imported: 0, known: 0, skipped: 0 })
  })

  it('holds two pages of a large bucket at most', async () => {
    const count = isLongRun ? 1_000_000 : 10_000
    const { storage, listing } = generatedBucket(count)
    const service = startService({ storage: () => storage })
    const adopted = new Uint8Array(count)
    let largest = 0
    const lookups: unknown[] = []
    around(service.objects, 'listStored', (list) => (input) => {
      lookups.push(input)
      return list(input)
    })
    if (isLongRun) {
      // The rows of a million objects would fill this process.
      around(service.objects, 'adopt', () => async ({ size }) => {
        adopted[size]!++
        return { object: null, known: false }
      })
    }
    const onProgress = ({ done }: JobProgress) => {
      largest = Math.max(largest, listing.listed - done)
    }
    const select = ownerFromKey
    const result = await importObjects(service.s3, { select, onProgress, concurrency: 100 })
    expect(result).toMatchObject({ imported: count, failed: [], after: keyAt(count - 1) })
    expect(largest).toBeLessThanOrEqual(2000)
    expect([listing.calls, lookups.length]).toEqual([count / 1000, count / 1000])
    if (isLongRun) expect(adopted.every((times) => times === 1)).toBe(true)
    else expect(await service.objects.getScopeUsage('user:7')).toMatchObject({ files: count / 10 })
  })

  it('goes on with what is new after the last key', async () => {
    const { run, storage } = await serviceOverBucket(['users/1/2026-01'])
    const { after } = await run()
    await store(storage, 'users/1/2026-02')
    expect(await run({ after })).toMatchObject({ imported: 1, known: 0, after: 'users/1/2026-02' })
  })
})
