import { describe, expect, it } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { NOTHING_USED } from '../server.js'
import { cutOff } from './cut-off.js'
import { PART, threeParts } from './files.js'
import { hurried, useHurriedClock } from './hurried-clock.js'
import { ABORT, BEGIN, COMPLETE, LIST, PUT, SIGN } from './request-lines.js'
import { answering, lostAfter, startUploads } from './uploads-in-trouble.js'

useHurriedClock()

describe('an upload in parts that lost the network', () => {
  it('is kept at the server, and goes on with what is missing', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file)
    expect(uploads.count(ABORT)).toBe(0)
    expect(await uploads.objects.getScopeUsage('ada')).toMatchObject({
      reservedBytes: file.size,
      reservedFiles: 1,
    })
    const steps: number[] = []
    const object = await uploads.api.upload(file, { onProgress: ({ loaded }) => steps.push(loaded) })
    expect(object).toMatchObject({ status: 'active', size: file.size })
    expect(steps[0]).toBe(PART)
    expect(uploads.log.slice(0, 2)).toEqual(['POST /multipart/list', 'POST /multipart/parts'])
    expect(uploads.log.slice(2, 4).sort()).toEqual(['PUT 2', 'PUT 3'])
    expect(uploads.log.slice(4, 5)).toEqual(['POST /multipart/complete'])
    expect((await uploads.bytesOf(object))[2 * PART]).toBe(3)
    expect(await uploads.objects.getScopeUsage('ada')).toEqual({
      ...NOTHING_USED,
      bytes: file.size,
      files: 1,
    })
    uploads.log.length = 0
    expect(await uploads.api.upload(file)).not.toMatchObject({ id: object.id })
    expect(uploads.count(LIST)).toBe(0)
  })

  it('reads all pages of what the bucket has', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file, /^PUT 3$/)
    uploads.trouble(
      LIST,
      async (serve) => {
        const { partSize, parts } = (await (await serve()).json()) as { partSize: number; parts: unknown[] }
        return Response.json({ partSize, parts: parts.slice(0, 1), next: 1 })
      },
      1,
    )
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect([uploads.count(LIST), uploads.count(PUT)]).toEqual([2, 1])
  })

  it('completes alone where only that was missing', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await cutOff(uploads, file, COMPLETE)
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect([uploads.count(LIST), uploads.count(PUT), uploads.count(COMPLETE)]).toEqual([1, 0, 1])
  })

  it('is that object if it had been completed, without an answer', async () => {
    const uploads = startUploads()
    const file = threeParts()
    uploads.trouble(COMPLETE, lostAfter)
    expect(await hurried(rejectionOf(uploads.api.upload(file)))).toMatchObject({ code: 'NETWORK_ERROR' })
    const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
    uploads.calm()
    expect(await uploads.api.upload(file)).toMatchObject({ id: row!.id, status: 'active' })
    expect([uploads.count(BEGIN), uploads.count(PUT)]).toEqual([1, 3])
  })

  it('is kept when the server is out of service, and when the session has ended', async () => {
    const uploads = startUploads()
    const file = threeParts()
    uploads.trouble(SIGN, answering(503))
    expect(await hurried(rejectionOf(uploads.api.upload(file)))).toMatchObject({ status: 503 })
    uploads.calm()
    const signedOut = async () =>
      new Response(JSON.stringify({ code: 'UNAUTHORIZED', message: 'Sign in.' }), { status: 401 })
    uploads.trouble(COMPLETE, signedOut)
    expect(await rejectionOf(uploads.api.upload(file))).toMatchObject({ code: 'UNAUTHORIZED' })
    uploads.calm()
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect([uploads.count(BEGIN), uploads.count(PUT), uploads.count(ABORT)]).toEqual([1, 3, 0])
  })
})
