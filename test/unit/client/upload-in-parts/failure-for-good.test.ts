import { describe, expect, it } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { NOTHING_USED } from '../server.js'
import { threeParts } from './files.js'
import { hurried, useHurriedClock } from './hurried-clock.js'
import { BEGIN, LIST, PUT, SIGN } from './request-lines.js'
import { answering, startUploads } from './uploads-in-trouble.js'

useHurriedClock()

describe('an upload in parts that fails for good', () => {
  it('before it has begun: nothing is kept or ended', async () => {
    const uploads = startUploads({ quota: { maxBytes: 1 } })
    const file = threeParts()
    for (let time = 0; time < 2; time++) {
      expect(await rejectionOf(uploads.api.upload(file))).toMatchObject({
        code: 'QUOTA_EXCEEDED',
        status: 413,
      })
    }
    expect(uploads.log).toEqual(['POST /multipart', 'POST /multipart'])
  })

  it('ends the attempt and is not resumed', async () => {
    const uploads = startUploads()
    const file = threeParts()
    uploads.trouble(/^PUT 2$/, answering(418))
    expect(await hurried(rejectionOf(uploads.api.upload(file)))).toMatchObject({ status: 418 })
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
    uploads.calm()
    await uploads.api.upload(file)
    expect([uploads.count(LIST), uploads.count(BEGIN)]).toEqual([0, 2])
  })

  it('says that the server knows nothing of it any more', async () => {
    const uploads = startUploads()
    uploads.trouble(SIGN, async (serve) => {
      const { objects } = await uploads.objects.listByScope({ scope: 'ada' })
      for (const { bucket, key } of objects) await uploads.objects.release({ bucket, key })
      return serve()
    })
    expect(await rejectionOf(uploads.api.upload(threeParts()))).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
    expect([uploads.count(BEGIN), uploads.count(PUT)]).toEqual([1, 0])
  })

  it('passes on what onProgress throws', async () => {
    const uploads = startUploads()
    const gone = new Error('The progress bar is gone.')
    const onProgress = ({ loaded }: { loaded: number }) => {
      if (loaded > 0) throw gone
    }
    await expect(uploads.api.upload(threeParts(), { onProgress })).rejects.toBe(gone)
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })
})
