import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { timeUntilSettled } from '../fake-time.js'
import { rejectionOf } from '../rejection.js'
import { NOTHING_USED } from '../server.js'
import { interrupt } from './interrupted.js'
import { PART, threeParts } from './files.js'
import { withoutPauses, useFakePauses } from './fake-pauses.js'
import { ABORT, START, ONE_PUT, PUT } from './request-lines.js'
import { lostBefore, refuse, startUploads } from './faulty-uploads.js'

useFakePauses()

describe('an interrupted multipart upload', () => {
  it('is not resumed by another file, nor with another route, filename or metadata', async () => {
    const uploads = startUploads({ routes: { a: {}, b: {} } })
    const file = threeParts()
    const first = { route: 'a', metadata: { a: '1', b: '1' } }
    uploads.inject(/^PUT 2$/, lostBefore)
    await withoutPauses(rejectionOf(uploads.api.upload(file, first)))
    uploads.clearFaults()
    // Each of these starts an upload of its own, which is refused here to save time.
    uploads.inject(START, refuse)
    for (const [other, options] of [
      [new File([file, 'x'], file.name, file), first],
      [new File([file], 'other.bin', file), first],
      [file, { ...first, route: 'b' }],
      [file, { ...first, filename: 'b' }],
      [file, { ...first, contentType: 'text/csv' }],
      [file, { ...first, metadata: { a: '2', b: '1' } }],
    ] as const) {
      const started = uploads.count(START)
      expect(await rejectionOf(uploads.api.upload(other, options))).toMatchObject({ status: 413 })
      expect(uploads.count(START)).toBe(started + 1)
    }
    await uploads.api.upload(file, { ...first, metadata: { a: '1', b: '1' } })
    expect(uploads.count(START)).toBe(7)
  })

  it('is aborted for a Blob, which cannot be recognized later', async () => {
    const uploads = startUploads()
    uploads.inject(/^PUT 2$/, lostBefore)
    const blob = new Blob([new Uint8Array(2 * PART)])
    expect(await withoutPauses(rejectionOf(uploads.api.upload(blob)))).toMatchObject({
      code: 'NETWORK_ERROR',
    })
    expect(uploads.log.at(-1)).toBe('POST /multipart/abort')
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('restarts if the server has released it', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await interrupt(uploads, file)
    const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
    await uploads.objects.release(row!)
    const object = await uploads.api.upload(file)
    expect(object).toMatchObject({ status: 'active', size: file.size })
    expect(object.key).not.toBe(row!.key)
    expect(uploads.count(PUT)).toBe(3)
  })

  it('restarts and aborts the old attempt if that has expired', async () => {
    let time = Date.now()
    const uploads = startUploads({ now: () => new Date(time) })
    const file = threeParts()
    await interrupt(uploads, file)
    time += 25 * 60 * 60 * 1000
    const clock = vi.spyOn(Date, 'now').mockReturnValue(time)
    onTestFinished(() => clock.mockRestore())
    expect(await withoutPauses(uploads.api.upload(file))).toMatchObject({ status: 'active' })
    expect([uploads.count(ABORT), uploads.count(START), uploads.count(PUT)]).toEqual([1, 1, 3])
    expect(await uploads.objects.getScopeUsage('ada')).toEqual({
      ...NOTHING_USED,
      bytes: file.size,
      files: 1,
    })
  })

  it('restarts at once if the bucket no longer knows it, whose room the server has released', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await interrupt(uploads, file)
    const { objects: [row] = [] } = await uploads.objects.listByScope({ scope: 'ada' })
    await uploads.storage.multipart!.abort({
      bucket: 'files',
      key: row!.storageKey!,
      uploadId: row!.uploadId!,
    })
    const upload = uploads.api.upload(file)
    // The server looks again for a while, because some services show late what was completed.
    await timeUntilSettled(upload, () => false)
    expect(await upload).toMatchObject({ status: 'active' })
    expect([uploads.count(ABORT), uploads.count(START)]).toEqual([0, 1])
    expect(await uploads.objects.getScopeUsage('ada')).toEqual({
      ...NOTHING_USED,
      bytes: file.size,
      files: 1,
    })
  })

  it('restarts for another user of the same browser', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await interrupt(uploads, file)
    expect(await uploads.as('bob').upload(file)).toMatchObject({ status: 'active' })
    expect(uploads.count(START)).toBe(1)
    expect(await uploads.objects.getScopeUsage('ada')).toMatchObject({ reservedFiles: 1 })
  })

  it('uses one PUT if multipart uploads have been turned off meanwhile', async () => {
    const uploads = startUploads()
    const file = threeParts()
    await interrupt(uploads, file)
    const unknown = async () =>
      new Response(JSON.stringify({ code: 'NOT_FOUND', message: 'No.' }), { status: 404 })
    uploads.inject(/multipart/, unknown)
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect(uploads.count(ONE_PUT)).toBe(1)
  })
})
