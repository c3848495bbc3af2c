import { describe, expect, it } from 'vitest'
import { rejectionOf } from '../rejection.js'
import { NOTHING_USED } from '../server.js'
import { threeParts } from './files.js'
import { useFakePauses } from './fake-pauses.js'
import { START, PUT, SIGN } from './request-lines.js'
import { startUploads } from './faulty-uploads.js'

useFakePauses()

describe('a multipart upload that fails permanently', () => {
  it('saves and aborts nothing if the start request is refused', async () => {
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

  it('rejects with OBJECT_NOT_FOUND if the server no longer knows it', async () => {
    const uploads = startUploads()
    uploads.inject(SIGN, async (serve) => {
      const { objects } = await uploads.objects.listByScope({ scope: 'ada' })
      for (const { bucket, key } of objects) await uploads.objects.release({ bucket, key })
      return serve()
    })
    expect(await rejectionOf(uploads.api.upload(threeParts()))).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
    expect([uploads.count(START), uploads.count(PUT)]).toEqual([1, 0])
  })

  it('rejects with the error of onProgress', async () => {
    const uploads = startUploads()
    const gone = new Error('The progress bar is gone.')
    const onProgress = ({ loaded }: { loaded: number }) => {
      if (loaded > 0) throw gone
    }
    await expect(uploads.api.upload(threeParts(), { onProgress })).rejects.toBe(gone)
    expect(await uploads.objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })
})
