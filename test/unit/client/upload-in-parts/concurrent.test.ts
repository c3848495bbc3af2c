import { afterEach, describe, expect, it, vi } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { NOTHING_USED } from '../server.js'
import { interrupt } from './interrupted.js'
import { threeParts } from './files.js'
import { useFakePauses, withoutPauses } from './fake-pauses.js'
import { COMPLETE, START, LIST, PUT } from './request-lines.js'
import { bufferingProxy, refuse, startUploads } from './faulty-uploads.js'

useFakePauses()
afterEach(() => void vi.unstubAllGlobals())

describe('concurrent uploads of the same file', () => {
  it('are separate uploads in one page', async () => {
    const uploads = startUploads()
    const file = threeParts()
    const objects = await Promise.all([uploads.api.upload(file), uploads.api.upload(file)])
    expect(new Set(objects.map(({ key }) => key)).size).toBe(2)
    for (const object of objects) expect(await uploads.bytesOf(object)).toHaveLength(file.size)
    expect([uploads.count(START), uploads.count(LIST), uploads.count(PUT)]).toEqual([2, 0, 6])
  })

  it('are separate uploads in two tabs with locks', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await interrupt(uploads, file)
    // The other tab is resuming it.
    const held = Object.keys(localStorage)
    vi.stubGlobal('navigator', {
      locks: {
        request: (name: string, _: object, work: (lock: object | null) => unknown) =>
          work(held.includes(name) ? null : {}),
        query: () => Promise.reject(new Error('Not asked.')),
      },
    })
    uploads.inject(START, refuse)
    await rejectionOf(uploads.api.upload(file))
    // Settling asks for its parts.
    expect([uploads.count(LIST), uploads.count(PUT), uploads.count(START)]).toEqual([1, 0, 1])
  })

  it('work in a page that cannot use locks', async () => {
    const request = () => Promise.reject(new DOMException('No origin.', 'SecurityError'))
    vi.stubGlobal('navigator', { locks: { request } })
    expect(await startUploads().api.upload(threeParts())).toMatchObject({ status: 'active' })
  })

  it('reject with the same errors with locks', async () => {
    const request = (_: string, __: object, work: (lock: object) => unknown) => work({})
    vi.stubGlobal('navigator', { locks: { request } })
    const uploads = startUploads({ quota: { maxFiles: 0 } })
    expect(await rejectionOf(uploads.api.upload(threeParts()))).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect(uploads.count(START)).toBe(1)
  })

  it('end in the earlier of two tabs without locks, and never mix two files', async () => {
    vi.stubGlobal('navigator', {})
    const uploads = startUploads()
    const { holdBack, deliver } = bufferingProxy()
    uploads.inject(/^PUT 3$/, holdBack)
    const one = threeParts()
    const earlier = rejectionOf(uploads.api.upload(one))
    await expect.poll(() => uploads.count(/^PUT 3$/)).toBe(1)
    uploads.clearFaults()
    uploads.inject(COMPLETE, deliver)
    vi.resetModules()
    const other = await import('@svc/db/client')
    const { api } = other.createS3Client({
      baseURL: 'http://files.test',
      plugins: [],
      fetch: uploads.fetch,
      headers: { 'x-user': 'ada' },
    })
    const bytes = new Uint8Array(await one.arrayBuffer())
    bytes[one.size - 1] = 7
    const two = new File([bytes], one.name, { type: one.type, lastModified: one.lastModified })
    const object = await api.upload(two)
    expect(await withoutPauses(earlier)).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
    expect(Buffer.from(await uploads.bytesOf(object)).equals(bytes)).toBe(true)
    expect(await uploads.objects.getScopeUsage('ada')).toEqual({ ...NOTHING_USED, bytes: one.size, files: 1 })
  })
})
