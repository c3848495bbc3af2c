import { afterEach, describe, expect, it, vi } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { NOTHING_USED } from '../server.js'
import { cutOff } from './cut-off.js'
import { PART, threeParts } from './files.js'
import { hurried, useHurriedClock } from './hurried-clock.js'
import { BEGIN, LIST, PUT } from './request-lines.js'
import { lostBefore, startUploads } from './uploads-in-trouble.js'

useHurriedClock()
afterEach(() => void vi.unstubAllGlobals())

describe('the same file twice at the same moment', () => {
  it('in one page is two uploads', async () => {
    const uploads = startUploads()
    const file = threeParts()
    const objects = await Promise.all([uploads.api.upload(file), uploads.api.upload(file)])
    expect(new Set(objects.map(({ key }) => key)).size).toBe(2)
    for (const object of objects) expect(await uploads.bytesOf(object)).toHaveLength(file.size)
    expect([uploads.count(BEGIN), uploads.count(LIST), uploads.count(PUT)]).toEqual([2, 0, 6])
  })

  it('in two tabs is two uploads where the browser has locks', async () => {
    const request = vi.fn((_: string, __: object, work: (lock: null) => unknown) => work(null))
    vi.stubGlobal('navigator', { locks: { request } })
    const uploads = startUploads()
    const file = threeParts()
    uploads.trouble(/^PUT 2$/, lostBefore)
    await hurried(rejectionOf(uploads.api.upload(file)))
    // It was the other tab's to be kept.
    expect(uploads.log.at(-1)).toBe('POST /multipart/abort')
    uploads.calm()
    await uploads.api.upload(file)
    expect(uploads.count(LIST)).toBe(0)
    expect(request).toHaveBeenCalledTimes(2)
    expect(request.mock.calls[0]).toEqual([
      expect.stringContaining(file.name),
      { ifAvailable: true },
      expect.any(Function),
    ])
  })

  it('goes on where a page may not lock anything', async () => {
    const request = () => Promise.reject(new DOMException('No origin.', 'SecurityError'))
    vi.stubGlobal('navigator', { locks: { request } })
    expect(await startUploads().api.upload(threeParts())).toMatchObject({ status: 'active' })
  })

  it('rejects as without locks', async () => {
    const request = (_: string, __: object, work: (lock: object) => unknown) => work({})
    vi.stubGlobal('navigator', { locks: { request } })
    const uploads = startUploads({ quota: { maxFiles: 0 } })
    expect(await rejectionOf(uploads.api.upload(threeParts()))).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect(uploads.count(BEGIN)).toBe(1)
  })

  it('in two tabs without locks is one upload, whole, of which the second tab sends what is missing', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    // The other tab: it has read the same ids, and is faster at every step from here on.
    uploads.trouble(
      /^PUT 2$/,
      async (serve) => {
        const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
        const { key, id, uploadId } = row!
        const ask = (path: string, body: object) =>
          uploads.server.handler(
            new Request(`http://files.test/api/s3/multipart/${path}`, {
              method: 'POST',
              headers: { 'content-type': 'application/json', 'x-user': 'ada' },
              body: JSON.stringify({ key, id, uploadId, ...body }),
            }),
          )
        const { parts } = (await (await ask('parts', { partNumbers: [2, 3] })).json()) as {
          parts: { url: string }[]
        }
        for (const [index, { url }] of parts.entries()) {
          const body = file.slice((index + 1) * PART, (index + 2) * PART)
          await uploads.server.handler(new Request(url, { method: 'PUT', body }))
        }
        expect((await ask('complete', {})).status).toBe(200)
        return serve()
      },
      1,
    )
    const object = await uploads.api.upload(file)
    expect(object).toMatchObject({ status: 'active', size: file.size })
    expect(uploads.count(BEGIN)).toBe(0)
    const bytes = await uploads.bytesOf(object)
    expect(Buffer.from(bytes).equals(Buffer.from(await file.arrayBuffer()))).toBe(true)
    expect(await uploads.objects.getScopeUsage('ada')).toEqual({
      ...NOTHING_USED,
      bytes: file.size,
      files: 1,
    })
  })
})
