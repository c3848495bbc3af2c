import { describe, expect, it } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { NOTHING_USED } from '../server.js'
import { PART, threeParts } from './files.js'
import { useFakePauses } from './fake-pauses.js'
import { ABORT, START, COMPLETE, LIST, SIGN } from './request-lines.js'
import { startUploads } from './faulty-uploads.js'

useFakePauses()

describe('an aborted multipart upload', () => {
  it.each([
    ['beforehand', null],
    ['during the start request', START],
    ['while it requests URLs', SIGN],
    ['while parts are sent', /^PUT 2$/],
  ])('%s: aborts the attempt and clears the resume state', async (_, where) => {
    const uploads = startUploads()
    const controller = new AbortController()
    const reason = new Error('The user has changed their mind.')
    if (where === null) controller.abort(reason)
    else {
      uploads.inject(where, (serve) => {
        controller.abort(reason)
        return serve()
      })
    }
    const file = threeParts()
    const upload = uploads.api.upload(file, { signal: controller.signal })
    expect(await rejectionOf(upload)).toMatchObject({ code: 'ABORTED', cause: reason })
    await expect.poll(() => uploads.count(ABORT)).toBe(where === null ? 0 : 1)
    await expect.poll(() => uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
    uploads.clearFaults()
    await uploads.api.upload(file)
    expect(uploads.count(LIST)).toBe(0)
  })

  it('before the server completes it: aborts the attempt', async () => {
    const uploads = startUploads()
    const controller = new AbortController()
    uploads.inject(COMPLETE, async () => {
      controller.abort()
      return new Promise(() => undefined)
    })
    expect(await rejectionOf(uploads.api.upload(threeParts(), { signal: controller.signal }))).toMatchObject({
      code: 'ABORTED',
    })
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('after the server has completed it: resolves to the object', async () => {
    const uploads = startUploads()
    const controller = new AbortController()
    uploads.inject(
      COMPLETE,
      async (serve) => {
        const response = await serve()
        controller.abort()
        return response
      },
      1,
    )
    const steps: number[] = []
    const onProgress = ({ loaded }: { loaded: number }) => steps.push(loaded)
    const object = await uploads.api.upload(threeParts(), { signal: controller.signal, onProgress })
    expect(object).toMatchObject({ status: 'active' })
    expect(steps.at(-1)).toBe(2 * PART + 3)
  })
})
