import { cleanUp } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../conformance/clock.js'
import { cleanUpItems, BUCKET, bytesOfSize, expectStatus, outcomesOf } from '../service.js'
import { ownerFromKey, serviceOverBucket } from './bucket.js'
import { importLargeBucket, importTwice, stopAnywhere } from './interrupted-imports.js'

describe('importObjects, stopped or beside other work,', () => {
  it('records everything once if it is stopped anywhere and goes on', () => stopAnywhere(20))

  it('records each item once if two run at once', () => importTwice(3))

  it('holds two pages of a large bucket at most', () => importLargeBucket(3000, true))

  it('does nothing if it is stopped before it starts', async () => {
    const { run } = await serviceOverBucket(['a'])
    expect(await run({ signal: AbortSignal.abort(), after: 'A' })).toEqual({
      imported: 0,
      known: 0,
      differs: 0,
      skipped: 0,
      failed: [],
      after: 'A',
    })
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
    const { reservations, leftovers } = await cleanUpItems(s3)
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
})
