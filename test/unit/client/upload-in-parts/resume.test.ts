import { describe, expect, it } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { NOTHING_USED } from '../server.js'
import { interrupt } from './interrupted.js'
import { PART, threeParts } from './files.js'
import { withoutPauses, useFakePauses } from './fake-pauses.js'
import { ABORT, START, COMPLETE, LIST, PUT, SIGN } from './request-lines.js'
import { respondWith, lostAfter, startUploads } from './faulty-uploads.js'

useFakePauses()

describe('an interrupted multipart upload', () => {
  it('stays reserved at the server, and is resumed with the missing parts', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await interrupt(uploads, file)
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

  it('only completes if all parts are stored', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await interrupt(uploads, file, COMPLETE)
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect([uploads.count(LIST), uploads.count(PUT), uploads.count(COMPLETE)]).toEqual([0, 0, 1])
  })

  it('resolves to the object if it was completed but the response was lost', async () => {
    const uploads = startUploads()
    const file = threeParts()
    uploads.inject(COMPLETE, lostAfter)
    expect(await withoutPauses(rejectionOf(uploads.api.upload(file)))).toMatchObject({
      code: 'NETWORK_ERROR',
    })
    const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
    uploads.clearFaults()
    expect(await uploads.api.upload(file)).toMatchObject({ id: row!.id, status: 'active' })
    expect([uploads.count(START), uploads.count(PUT)]).toEqual([1, 3])
  })

  it('is kept if the server is unavailable or the session has expired', async () => {
    const uploads = startUploads()
    const file = threeParts()
    uploads.inject(SIGN, respondWith(503))
    expect(await withoutPauses(rejectionOf(uploads.api.upload(file)))).toMatchObject({ status: 503 })
    uploads.clearFaults()
    const signedOut = async () =>
      new Response(JSON.stringify({ code: 'UNAUTHORIZED', message: 'Sign in.' }), { status: 401 })
    uploads.inject(COMPLETE, signedOut)
    expect(await rejectionOf(uploads.api.upload(file))).toMatchObject({ code: 'UNAUTHORIZED' })
    uploads.clearFaults()
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect([uploads.count(START), uploads.count(PUT), uploads.count(ABORT)]).toEqual([1, 3, 0])
  })
})
