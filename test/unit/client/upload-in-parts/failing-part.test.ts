import { describe, expect, it } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { NOTHING_USED } from '../server.js'
import { fileOf, PART, threeParts } from './files.js'
import { withoutPauses, useFakePauses } from './fake-pauses.js'
import { ABORT, COMPLETE, PUT, SIGN } from './request-lines.js'
import { respondWith, lostAfter, lostBefore, startUploads } from './faulty-uploads.js'

useFakePauses()

describe('a failing part', () => {
  it('is retried alone, with a new URL, after any failure that may pass', async () => {
    const uploads = startUploads()
    const faults = [
      lostBefore,
      lostAfter,
      respondWith(503),
      respondWith(429),
      // An expired URL.
      respondWith(403),
      // A bucket that timed out.
      respondWith(400),
      // Another writer of the same part.
      respondWith(409),
    ]
    const parts = faults.map((_, index) => new RegExp(`^PUT ${index + 2}$`))
    faults.forEach((fault, index) => uploads.inject(parts[index]!, fault, 2))
    const file = fileOf(faults.length * PART + 3)
    expect(await withoutPauses(uploads.api.upload(file))).toMatchObject({ status: 'active' })
    // If two responses are lost, the server knows that the part has arrived.
    const puts = faults.map((fault) => (fault === lostAfter ? 2 : 3))
    expect([/^PUT 1$/, ...parts].map(uploads.count)).toEqual([1, ...puts])
    const urls = uploads.sent.filter(({ method }) => method === 'PUT').map(({ target }) => target)
    expect(new Set(urls).size).toBe(urls.length)
  })

  it('stops the others after its last retry, and aborts the attempt if the refusal is the library’s own', async () => {
    const uploads = startUploads()
    const refusal = { code: 'FORBIDDEN', message: 'The URL has expired.' }
    uploads.inject(/^PUT 1$/, async () => Response.json(refusal, { status: 403 }))
    const error = await withoutPauses(rejectionOf(uploads.api.upload(fileOf(6 * PART))))
    expect(error).toMatchObject({ status: 403, code: 'FORBIDDEN' })
    expect(uploads.count(/^PUT 1$/)).toBe(6)
    expect(uploads.log.at(-1)).toBe('POST /multipart/abort')
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it.each([
    ['for URLs', SIGN],
    ['to complete', COMPLETE],
  ])('does not abort the upload: the request %s is retried', async (_, where) => {
    const uploads = startUploads()
    uploads.inject(where, lostAfter, 2)
    uploads.inject(where, respondWith(502), 1)
    expect(await withoutPauses(uploads.api.upload(threeParts()))).toMatchObject({ status: 'active' })
    expect(uploads.count(ABORT)).toBe(0)
  })

  it('is sent again with all others if the bucket has lost it at completion', async () => {
    const uploads = startUploads()
    let wasLost = false
    uploads.inject(/^PUT 2$/, async (serve) => {
      if (wasLost) return serve()
      wasLost = true
      return new Response()
    })
    const object = await withoutPauses(uploads.api.upload(threeParts()))
    expect(uploads.log.slice(-6, -4)).toEqual(['POST /multipart/list', 'POST /multipart/parts'])
    expect(uploads.log.slice(-4, -1).sort()).toEqual(['PUT 1', 'PUT 2', 'PUT 3'])
    expect(uploads.log.at(-1)).toBe('POST /multipart/complete')
    expect((await uploads.bytesOf(object))[PART]).toBe(2)
  })

  it('gets a new URL if its first one has expired while it waited in line', async () => {
    const uploads = startUploads()
    uploads.inject(
      SIGN,
      async (serve) => {
        const { parts } = (await (await serve()).json()) as { parts: object[] }
        return Response.json({ parts: parts.map((part) => ({ ...part, expiresAt: new Date(0) })) })
      },
      1,
    )
    expect(await uploads.api.upload(threeParts())).toMatchObject({ status: 'active' })
    expect([uploads.count(SIGN), uploads.count(PUT)]).toEqual([2, 3])
  })
})
