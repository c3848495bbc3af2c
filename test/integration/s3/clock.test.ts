import { s3Storage } from '@svc/db/s3'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { HOUR, MINUTE } from '../../conformance/clock.js'
import { downloadFrom, get, put, uploadTo } from './browser-requests.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'

describeS3('s3Storage with a wrong system clock', (server) => {
  const bucket = freshBucket(clientOf(server))
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([
    ['an hour fast', HOUR],
    ['an hour slow', -HOUR],
  ])('signs URLs with the right lifetime once S3 has returned its time: %s', async (_, error) => {
    vi.setSystemTime(Date.now() + error)
    const storage = s3Storage({ client: clientOf(server) })
    // The first call may be refused. Its response contains the time.
    await storage.head({ bucket, key: 'a' }).catch(() => undefined)
    const upload = uploadTo(bucket)
    expect(await storage.head(upload)).toBeNull()
    expect(await put(await storage.signUpload(upload))).toMatchObject({ status: 200 })
    const { url } = await storage.signDownload(downloadFrom(bucket, upload.key))
    expect(await get(url)).toMatchObject({ status: 200, body: 'hello' })

    const expiresAt = new Date(Date.now() - MINUTE)
    const { url: expired } = await storage.signDownload({ ...downloadFrom(bucket, upload.key), expiresAt })
    expect(await get(expired)).toMatchObject({ status: 403 })
  })

  it('signs expired URLs before that, if the clock is slow', async () => {
    vi.setSystemTime(Date.now() - HOUR)
    const storage = s3Storage({ client: clientOf(server) })
    const upload = { ...uploadTo(bucket), expiresAt: new Date(Date.now() + MINUTE) }
    expect(await put(await storage.signUpload(upload))).toMatchObject({ status: 403 })
  })
})
