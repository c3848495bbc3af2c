import { PAUSED, type UploadProgress } from '@svc/db/client'
import { describe, expect, it } from 'vitest'
import { rejectionOf } from './rejection.js'
import { NOTHING_USED } from './server.js'
import { PART, threeParts } from './upload-in-parts/files.js'
import { useFakePauses, withoutPauses } from './upload-in-parts/fake-pauses.js'
import { ABORT, COMPLETE, LIST, ONE_PUT, PUT, SIGN, START } from './upload-in-parts/request-lines.js'
import { startUploads, type Fault } from './upload-in-parts/faulty-uploads.js'

useFakePauses()

const CONFIRM = /\/upload\/confirm$/
const small = () => new File(['abc'], 'a.txt', { lastModified: 1 })

/** Starts uploads that a request matching `where` pauses. What the request does then is `fault`. */
function pausedAt(where: RegExp, fault: Fault = (serve) => serve(), reason: Error = PAUSED) {
  const errors: unknown[] = []
  const uploads = startUploads({ onError: (error) => void errors.push(error) })
  const controller = new AbortController()
  const pause: Fault = (serve) => {
    controller.abort(reason)
    return fault(serve)
  }
  uploads.inject(where, pause, 1)
  const upload = (file: Blob) => uploads.api.upload(file, { signal: controller.signal })
  return { ...uploads, errors, upload, usage: () => uploads.objects.getScopeUsage('ada') }
}

describe('a paused upload in parts', () => {
  it.each([
    ['during the start request', START],
    ['while it requests URLs', SIGN],
    ['while parts are sent', /^PUT 2$/],
  ])('%s: stays reserved, and goes on where it was', async (_, where) => {
    const uploads = pausedAt(where)
    const file = threeParts()
    const error = await rejectionOf(uploads.upload(file))
    expect(error).toMatchObject({ code: 'PAUSED', cause: PAUSED })
    // The call rejects at once, also while the response to the first request is on its way.
    await expect
      .poll(() => uploads.api.unfinishedUploads())
      .toMatchObject([{ filename: file.name, size: file.size }])
    expect(await uploads.usage()).toMatchObject({ reservedBytes: file.size, reservedFiles: 1 })
    // A PUT of the first call may still be on its way to the server. The second call then waits, and sends the part again.
    const object = await withoutPauses(uploads.api.upload(file))
    expect((await uploads.bytesOf(object))[2 * PART]).toBe(3)
    expect([uploads.count(START), uploads.count(ABORT)]).toEqual([1, 0])
    expect(await uploads.usage()).toEqual({ ...NOTHING_USED, bytes: file.size, files: 1 })
  })

  it('sends only what is missing', async () => {
    const uploads = startUploads()
    uploads.inject(/^PUT [23]$/, () => new Promise(() => undefined))
    const file = threeParts()
    const controller = new AbortController()
    const onProgress = ({ loaded }: UploadProgress) => loaded === PART && controller.abort(PAUSED)
    await rejectionOf(uploads.api.upload(file, { signal: controller.signal, onProgress }))
    uploads.clearFaults()
    uploads.log.length = 0
    await uploads.api.upload(file)
    expect([uploads.count(LIST), uploads.count(/^PUT [23]$/), uploads.count(PUT)]).toEqual([1, 2, 2])
  })

  it('is recognized by the name of the reason, as one of another copy of the module', async () => {
    const reason = Object.assign(new Error('Wait.'), { name: 'PAUSED' })
    const uploads = pausedAt(/^PUT 2$/, undefined, reason)
    expect(await rejectionOf(uploads.upload(threeParts()))).toMatchObject({ code: 'PAUSED', cause: reason })
    expect(await uploads.usage()).toMatchObject({ reservedFiles: 1 })
  })

  it('begins again if the file has no name, so that nothing stays reserved', async () => {
    const uploads = pausedAt(/^PUT 2$/)
    const blob = new Blob([new Uint8Array(2 * PART + 3)])
    expect(await rejectionOf(uploads.upload(blob))).toMatchObject({ code: 'PAUSED' })
    await expect.poll(uploads.usage).toEqual(NOTHING_USED)
    expect(await uploads.api.upload(blob)).toMatchObject({ status: 'active' })
  })

  it('tells the operator of no failure', async () => {
    const uploads = pausedAt(/^PUT 2$/)
    await rejectionOf(uploads.upload(threeParts()))
    await expect.poll(() => uploads.api.settleUploads()).toMatchObject({ kept: 1 })
    expect(uploads.errors).toEqual([])
  })
})

describe('a paused upload in one PUT', () => {
  it.each([
    ['beforehand', null, 0],
    ['during the start request', ONE_PUT, 1],
    ['while the bytes are sent', PUT, 1],
  ])('%s: ends at the server, and begins again', async (_, where, begun) => {
    const uploads = pausedAt(where ?? /^$/)
    const stopped = new AbortController()
    if (!where) stopped.abort(PAUSED)
    const upload = where ? uploads.upload(small()) : uploads.api.upload(small(), { signal: stopped.signal })
    expect(await rejectionOf(upload)).toMatchObject({ code: 'PAUSED' })
    await expect.poll(() => uploads.count(/\/upload\/abort$/)).toBe(begun)
    await expect.poll(uploads.usage).toEqual(NOTHING_USED)
    expect(await uploads.api.upload(small())).toMatchObject({ status: 'active', size: 3 })
    expect(uploads.count(ONE_PUT)).toBe(begun + 1)
  })
})

describe('a pause while the server verifies the bytes', () => {
  it.each([
    ['in one PUT', CONFIRM, small],
    ['in parts', COMPLETE, threeParts],
  ])('%s: comes too late', async (_, where, file) => {
    const uploads = pausedAt(where)
    expect(await uploads.upload(file())).toMatchObject({ status: 'active' })
    expect(uploads.count(where)).toBe(1)
  })

  it('takes effect if parts have to be sent again', async () => {
    const lost: Fault = async () =>
      Response.json({ code: 'UPLOAD_MISMATCH', message: 'A part is missing.' }, { status: 409 })
    const uploads = pausedAt(COMPLETE, lost)
    const file = threeParts()
    expect(await rejectionOf(uploads.upload(file))).toMatchObject({ code: 'PAUSED' })
    expect(await uploads.usage()).toMatchObject({ reservedFiles: 1 })
    expect(await uploads.api.upload(file)).toMatchObject({ status: 'active' })
    expect([uploads.count(START), uploads.count(PUT)]).toEqual([1, 6])
  })
})

it('pauses an upload that waits in line at once', async () => {
  const uploads = startUploads()
  // From the first URL on, the client knows that its PUTs must leave a connection for the API.
  await uploads.api.upload(small())
  uploads.log.length = 0
  const held: (() => void)[] = []
  uploads.inject(/^PUT/, async (serve) => {
    await new Promise<void>((resolve) => held.push(resolve))
    return serve()
  })
  const begun = Array.from({ length: 6 }, () => uploads.api.upload(small()))
  await expect.poll(() => held.length).toBe(5)
  const controller = new AbortController()
  const waiting = rejectionOf(uploads.api.upload(small(), { signal: controller.signal }))
  controller.abort(PAUSED)
  expect(await waiting).toMatchObject({ code: 'PAUSED' })
  uploads.clearFaults()
  held.forEach((release) => release())
  await Promise.all(begun)
  expect(uploads.count(ONE_PUT)).toBe(6)
})
