import { describe, expect, it } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { NOTHING_USED } from '../server.js'
import { fileOf, PART, threeParts } from './files.js'
import { hurried, useHurriedClock } from './hurried-clock.js'
import { ABORT, COMPLETE, SIGN } from './request-lines.js'
import { answering, lostAfter, lostBefore, startUploads } from './uploads-in-trouble.js'

useHurriedClock()

describe('a part that fails', () => {
  it.each([
    ['a lost connection', lostBefore],
    ['a lost answer', lostAfter],
    ['a server that is out of service', answering(503)],
    ['a bucket that asks for patience', answering(429)],
    ['a URL that has expired', answering(403)],
    ['a bucket that has waited too long', answering(400)],
  ])('by %s is sent again, by itself, to another URL', async (_, trouble) => {
    const uploads = startUploads()
    uploads.trouble(/^PUT 2$/, trouble, 2)
    expect(await hurried(uploads.api.upload(threeParts()))).toMatchObject({ status: 'active' })
    expect([uploads.count(/^PUT 1$/), uploads.count(/^PUT 2$/), uploads.count(/^PUT 3$/)]).toEqual([1, 3, 1])
    expect(uploads.count(SIGN)).toBe(3)
    expect(
      new Set(uploads.sent.filter(({ method }) => method === 'PUT').map(({ target }) => target)).size,
    ).toBeGreaterThan(2)
  })

  it('for good stops the others, and the attempt ends at the server', async () => {
    const uploads = startUploads()
    uploads.trouble(/^PUT 1$/, answering(403))
    const error = await hurried(rejectionOf(uploads.api.upload(fileOf(12 * PART))))
    expect(error).toMatchObject({ status: 403, code: 'UNEXPECTED_RESPONSE' })
    expect(uploads.count(/^PUT 1$/)).toBe(6)
    expect(uploads.log.at(-1)).toBe('POST /multipart/abort')
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it.each([
    ['URLs', SIGN],
    ['to complete', COMPLETE],
  ])('to get %s is asked again', async (_, where) => {
    const uploads = startUploads()
    uploads.trouble(where, lostAfter, 2)
    uploads.trouble(where, answering(502), 1)
    expect(await hurried(uploads.api.upload(threeParts()))).toMatchObject({ status: 'active' })
    expect(uploads.count(ABORT)).toBe(0)
  })

  it('to be there when it is to be completed is sent once more', async () => {
    const uploads = startUploads()
    let pretended = false
    uploads.trouble(/^PUT 2$/, async (serve) => {
      if (pretended) return serve()
      pretended = true
      return new Response()
    })
    const object = await uploads.api.upload(threeParts())
    expect(uploads.log.slice(-4)).toEqual([
      'POST /multipart/list',
      'POST /multipart/parts',
      'PUT 2',
      'POST /multipart/complete',
    ])
    expect((await uploads.bytesOf(object))[PART]).toBe(2)
  })
})
