import { afterEach, describe, expect, it, vi } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { NOTHING_USED } from '../server.js'
import { interrupt } from './interrupted.js'
import { PART, threeParts } from './files.js'
import { useFakePauses } from './fake-pauses.js'
import { START, LIST, PUT } from './request-lines.js'
import { refuse, startUploads } from './faulty-uploads.js'

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
    vi.stubGlobal('navigator', {
      locks: {
        request: (_: string, __: object, work: (lock: object | null) => unknown) => work(null),
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

  it('share one upload in two tabs without locks, and produce a complete object', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await interrupt(uploads, file)
    // The other tab has read the same ids, and is faster at every step from here on.
    uploads.inject(
      /^PUT 2$/,
      async (serve) => {
        const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
        const { key, id, uploadId } = row!
        const post = (path: string, body: object) =>
          uploads.server.handler(
            new Request(`http://files.test/api/s3/multipart/${path}`, {
              method: 'POST',
              headers: { 'content-type': 'application/json', 'x-user': 'ada' },
              body: JSON.stringify({ key, id, uploadId, ...body }),
            }),
          )
        const { parts } = (await (await post('parts', { partNumbers: [2, 3] })).json()) as {
          parts: { url: string }[]
        }
        for (const [index, { url }] of parts.entries()) {
          const body = file.slice((index + 1) * PART, (index + 2) * PART)
          await uploads.server.handler(new Request(url, { method: 'PUT', body }))
        }
        expect((await post('complete', {})).status).toBe(200)
        return serve()
      },
      1,
    )
    const object = await uploads.api.upload(file)
    expect(object).toMatchObject({ status: 'active', size: file.size })
    expect(uploads.count(START)).toBe(0)
    const bytes = await uploads.bytesOf(object)
    expect(Buffer.from(bytes).equals(Buffer.from(await file.arrayBuffer()))).toBe(true)
    expect(await uploads.objects.getScopeUsage('ada')).toEqual({
      ...NOTHING_USED,
      bytes: file.size,
      files: 1,
    })
  })
})
