import { createS3Client, dbClient } from '@svc/db/client'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { digestOf } from '../../../../src/client/upload/read.js'
import { stubFailingLocalStorage, stubLocalStorage } from '../local-storage.js'
import { stubPageEvents } from '../page-events.js'
import { rejectionOf } from '../rejection.js'
import { fileOf, isStored } from './contents.js'
import { interrupt } from './interrupted.js'
import { threeParts } from './files.js'
import { useFakePauses, withoutPauses } from './fake-pauses.js'
import { bufferingProxy, lostAfter, lostBefore, startUploads } from './faulty-uploads.js'
import { ABORT, COMPLETE, PUT, START } from './request-lines.js'

useFakePauses()
afterEach(() => void vi.unstubAllGlobals())

const HAS_DIGESTS = /"digests":\[[^\]]/

describe('a resumed upload', () => {
  it('ends, and another upload begins, if a part differs that was begun', async () => {
    const uploads = startUploads()
    const { holdBack, deliver } = bufferingProxy()
    uploads.inject(/^PUT [23]$/, holdBack)
    const [first, edited] = [1, 2].map((fill) => fileOf({ fills: [0, 0, fill], edit: null })) as [File, File]
    expect(await withoutPauses(rejectionOf(uploads.api.upload(first)))).toMatchObject({
      code: 'NETWORK_ERROR',
    })
    uploads.clearFaults()
    uploads.log.length = 0
    uploads.inject(COMPLETE, deliver)
    const { key } = await uploads.api.upload(edited)
    expect([ABORT, START, PUT].map(uploads.count)).toEqual([1, 1, 3])
    expect(await isStored(uploads, key, edited)).toBe(true)
    expect(await uploads.objects.getScopeUsage('ada')).toMatchObject({ files: 1, reservedFiles: 0 })
  })

  it('is not the object of another file whose completion was lost', async () => {
    const uploads = startUploads()
    uploads.inject(COMPLETE, lostAfter)
    const [one, other] = [1, 2].map((fill) => fileOf({ fills: [0, fill, 0], edit: null })) as [File, File]
    expect(await withoutPauses(rejectionOf(uploads.api.upload(one)))).toMatchObject({ code: 'NETWORK_ERROR' })
    uploads.clearFaults()
    const { key } = await uploads.api.upload(other)
    expect(await isStored(uploads, key, other)).toBe(true)
    expect(await uploads.objects.getScopeUsage('ada')).toMatchObject({ files: 2, reservedFiles: 0 })
  })

  /** Cuts an upload off, and changes what was kept of it. */
  async function startDamaged(damage: object) {
    const entries = stubLocalStorage()
    const uploads = startUploads()
    const file = threeParts()
    await interrupt(uploads, file)
    for (const [name, text] of entries)
      entries.set(name, JSON.stringify({ ...(JSON.parse(text) as object), ...damage }))
    return { uploads, file }
  }

  it.each<[string, unknown]>([
    ['with digests that are no list', 'abc'],
    ['with digests of other types', [1, null, {}]],
    ['with digests that are cut off', [null, '1,2']],
  ])('ends, and another upload begins, if it was kept %s', async (_, digests) => {
    const { uploads, file } = await startDamaged({ digests })
    const { key } = await uploads.api.upload(file)
    expect([ABORT, START, PUT].map(uploads.count)).toEqual([1, 1, 3])
    expect(await isStored(uploads, key, file)).toBe(true)
    expect(await uploads.objects.getScopeUsage('ada')).toMatchObject({ files: 1, reservedFiles: 0 })
  })

  it.each([-1, 1, 9_000_000, 'x'])('ignores a kept part size of %j', async (partSize) => {
    const { uploads, file } = await startDamaged({ partSize })
    const object = await uploads.api.upload(file)
    expect(await isStored(uploads, object.key, file)).toBe(true)
  })

  it('is ended at the server by an abort while it is compared, also if another page has begun it', async () => {
    const { uploads, file } = await startDamaged({ page: 0.5 })
    const controller = new AbortController()
    const slice = file.slice.bind(file)
    file.slice = (start, ...rest) => {
      // The first read finds out whether the file can be read.
      if (uploads.log.length === 0 && rest[0] !== 1) controller.abort()
      return slice(start, ...rest)
    }
    expect(await rejectionOf(uploads.api.upload(file, { signal: controller.signal }))).toMatchObject({
      code: 'ABORTED',
    })
    await expect
      .poll(() => uploads.objects.getScopeUsage('ada'))
      .toMatchObject({ files: 0, reservedBytes: 0, reservedFiles: 0 })
  })

  it('does not go on under another account, and can be resumed by its own', async () => {
    stubLocalStorage()
    const uploads = startUploads()
    let account = 'ada'
    const { api } = createS3Client({
      baseURL: 'http://files.test',
      plugins: [dbClient()],
      fetch: uploads.fetch,
      headers: () => ({ 'x-user': account }),
      account: () => account,
    })
    const file = threeParts()
    await interrupt({ ...uploads, api }, file)
    uploads.inject(/^PUT 2$/, (serve) => {
      account = 'bob'
      return lostBefore(serve)
    })
    expect(await withoutPauses(rejectionOf(api.upload(file)))).toMatchObject({ code: 'ABORTED' })
    expect(await uploads.objects.getScopeUsage('bob')).toMatchObject({ files: 0, reservedFiles: 0 })
    uploads.clearFaults()
    uploads.log.length = 0
    account = 'ada'
    const object = await api.upload(file)
    expect([uploads.count(START), uploads.count(PUT)]).toEqual([0, 1])
    expect(await isStored(uploads, object.key, file)).toBe(true)
  })

  it.each(['full', 'forbidden'])('stores the file where the storage is %s', async (state) => {
    const entries = stubLocalStorage()
    if (state === 'forbidden') stubFailingLocalStorage()
    else {
      const setItem = localStorage.setItem.bind(localStorage)
      localStorage.setItem = (name, text) => {
        // There is room for an attempt, but not for digests.
        if (HAS_DIGESTS.test(text)) throw new DOMException('Full.', 'QuotaExceededError')
        setItem(name, text)
      }
    }
    const uploads = startUploads()
    const [one, other] = [1, 2].map((fill) => fileOf({ fills: [fill, fill, fill], edit: null })) as [
      File,
      File,
    ]
    await interrupt(uploads, one)
    const object = await uploads.api.upload(other)
    expect(await isStored(uploads, object.key, other)).toBe(true)
    expect(await uploads.objects.getScopeUsage('ada')).toMatchObject({ files: 1, reservedFiles: 0 })
    expect(entries.size).toBe(0)
  })

  it('is kept at most once a second where pages have locks', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const request = (_: string, __: object, work: (lock: object) => unknown) => work({})
    vi.stubGlobal('navigator', { locks: { request } })
    stubLocalStorage()
    const setItem = vi.spyOn(localStorage, 'setItem')
    const uploads = startUploads()
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    uploads.inject(/^PUT 3$/, (serve) => held.then(serve))
    let arrived = 0
    const twoArrived = new Promise<void>((resolve) =>
      uploads.inject(/^PUT [12]$/, async (serve) => {
        const response = await serve()
        if (++arrived === 2) resolve()
        return response
      }),
    )
    const upload = uploads.api.upload(threeParts())
    // Not `expect.poll`, which advances fake timers.
    await twoArrived
    vi.advanceTimersByTime(999)
    // The attempt, before anything is sent.
    expect(setItem).toHaveBeenCalledTimes(1)
    release()
    await upload
    // All of them, before the upload is completed.
    expect(setItem).toHaveBeenCalledTimes(2)
  })

  it('keeps every part that has begun when the page goes', async () => {
    const page = new EventTarget()
    stubPageEvents(page)
    const entries = stubLocalStorage()
    const uploads = startUploads()
    const controller = new AbortController()
    let begun = 0
    const allBegun = new Promise<void>((resolve) =>
      uploads.inject(PUT, () => {
        if (++begun === 3) resolve()
        return new Promise(() => undefined)
      }),
    )
    const upload = rejectionOf(uploads.api.upload(threeParts(), { signal: controller.signal }))
    await allBegun
    page.dispatchEvent(new Event('pagehide'))
    const [text] = [...entries.values()]
    expect((JSON.parse(text!) as { digests: unknown[] }).digests.filter(Boolean)).toHaveLength(3)
    controller.abort()
    await upload
    await expect.poll(() => entries.size).toBe(0)
    // An upload that has ended is not written again.
    page.dispatchEvent(new Event('pagehide'))
    expect(entries.size).toBe(0)
  })

  it('keeps at most 300 kB for 10,000 parts', async () => {
    const parts = Array.from({ length: 500 }, () => new Blob([crypto.getRandomValues(new Uint8Array(64))]))
    const { signal } = new AbortController()
    const digests = await Promise.all(parts.map((part) => digestOf(part, signal)))
    expect(new Set(digests).size).toBe(500)
    // As it is kept once the part has arrived, with a comma.
    const longest = Math.max(...digests.map((digest) => JSON.stringify([digest]).length + 1))
    expect(longest * 10_000).toBeLessThan(300_000)
  })
})
