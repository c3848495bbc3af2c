import { describe, expect, it } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { NOTHING_USED } from '../server.js'
import { fileOf, PART, threeParts } from './files.js'
import { withoutPauses, useFakePauses } from './fake-pauses.js'
import { COMPLETE, START, ONE_PUT, PUT, SIGN } from './request-lines.js'
import { refuse, respondWith, startUploads } from './faulty-uploads.js'

useFakePauses()

describe('a large upload', () => {
  it('is sent in parts', async () => {
    const uploads = startUploads()
    const file = threeParts()
    const object = await uploads.api.upload(file, { metadata: { a: 'b' } })
    expect(object).toMatchObject({
      status: 'active',
      size: file.size,
      filename: file.name,
      contentType: 'text/plain',
    })
    expect(Buffer.from(await uploads.bytesOf(object)).equals(Buffer.from(await file.arrayBuffer()))).toBe(
      true,
    )
    expect(uploads.log.slice(0, 2)).toEqual(['POST /multipart', 'POST /multipart/parts'])
    expect(uploads.log.slice(2, 5).sort()).toEqual(['PUT 1', 'PUT 2', 'PUT 3'])
    expect(uploads.log[5]).toBe('POST /multipart/complete')
    // Signed URLs get no headers of the application.
    const puts = uploads.sent.filter(({ method }) => method === 'PUT')
    for (const { headers, credentials } of puts) {
      expect([[...headers.keys()], credentials]).toEqual([['content-type'], 'omit'])
    }
    expect(await uploads.objects.find(object)).toMatchObject({ metadata: { a: 'b' } })
    expect(await uploads.objects.getScopeUsage('ada')).toEqual({
      ...NOTHING_USED,
      bytes: file.size,
      files: 1,
    })
  })

  it('is sent in parts from exactly the size of two, also a Blob', async () => {
    const uploads = startUploads()
    expect(await uploads.api.upload(fileOf(2 * PART - 1))).toMatchObject({ size: 2 * PART - 1 })
    expect([uploads.count(ONE_PUT), uploads.count(START)]).toEqual([1, 0])
    const blob = new Blob([new Uint8Array(2 * PART)])
    expect(await uploads.api.upload(blob)).toMatchObject({ size: 2 * PART, filename: 'file' })
    expect([uploads.count(ONE_PUT), uploads.count(START)]).toEqual([1, 1])
  })

  it('is sent in one PUT if the server has multipart uploads turned off', async () => {
    const uploads = startUploads({ multipart: false })
    const object = await uploads.api.upload(threeParts())
    expect(object).toMatchObject({ status: 'active', size: 2 * PART + 3 })
    expect(uploads.log.slice(0, 3)).toEqual(['POST /multipart', 'POST /upload', 'PUT _storage'])
  })

  it('sends four parts at once, and requests eight URLs at a time', async () => {
    const uploads = startUploads()
    const requested: number[] = []
    uploads.inject(SIGN, async (serve) => {
      const response = await serve()
      requested.push(((await response.clone().json()) as { parts: unknown[] }).parts.length)
      return response
    })
    // The bytes don't matter here, and are many.
    uploads.inject(PUT, respondWith(200))
    uploads.inject(COMPLETE, refuse)
    expect(await rejectionOf(uploads.api.upload(fileOf(8 * PART + 1)))).toMatchObject({
      code: 'QUOTA_EXCEEDED',
    })
    expect(uploads.maxConcurrency()).toBe(4)
    expect(requested).toEqual([8, 1])
  })

  it('reports increasing progress after each part, up to the total', async () => {
    const uploads = startUploads()
    uploads.inject(/^PUT 2$/, respondWith(500), 1)
    const file = threeParts()
    const steps: number[] = []
    await withoutPauses(
      uploads.api.upload(file, { onProgress: ({ loaded, total }) => steps.push(loaded / total) }),
    )
    expect(steps).toEqual([...new Set(steps)].sort((one, other) => one - other))
    expect(steps[0]).toBe(0)
    expect(steps.length).toBeGreaterThan(2)
    expect(steps.at(-1)).toBe(1)
  })
})
