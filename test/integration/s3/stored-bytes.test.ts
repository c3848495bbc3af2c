import { CreateBucketCommand, DeleteBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { s3Storage } from '@svc/db/s3'
import { expect, it } from 'vitest'
import { downloadFrom, partOf, put, uploadTo } from './browser-requests.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'

describeS3('s3Storage', (server) => {
  const client = clientOf(server)
  const bucket = freshBucket(client)
  const storage = s3Storage({ client })

  it('has no object before the upload and after the removal', async () => {
    const upload = uploadTo(bucket)
    expect(await storage.head(upload)).toBeNull()
    await storage.remove(upload)
    await put(await storage.signUpload(upload))
    expect(await storage.head(upload)).not.toBeNull()
    await storage.remove(upload)
    await storage.remove(upload)
    expect(await storage.head(upload)).toBeNull()
    expect(await put(await storage.signUpload(upload))).toMatchObject({ status: 200 })
  })

  it('describes an object that was written without a signed URL', async () => {
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: 'other', Body: 'abc' }))
    expect(await storage.head({ bucket, key: 'other' })).toMatchObject({ size: 3, attemptId: null })
  })

  it('rejects for a bucket that does not exist, and never returns null', async () => {
    const at = { bucket: 'svc-db-test-no-such-bucket', key: 'a' }
    const upload = { ...at, uploadId: 'u' }
    const multipart = storage.multipart!
    const calls: Record<string, () => Promise<unknown>> = {
      head: () => storage.head(at),
      remove: () => storage.remove(at),
      'multipart.create': () => multipart.create({ ...at, contentType: 'a/b', attemptId: 'a' }),
      'multipart.listParts': () => multipart.listParts({ ...upload, after: 0 }),
      'multipart.complete': () => multipart.complete({ ...upload, parts: [{ partNumber: 1, eTag: '"e"' }] }),
      'multipart.abort': () => multipart.abort(upload),
      'multipart.list': () => multipart.list(at),
    }
    for (const [name, call] of Object.entries(calls)) {
      await expect(call(), name).rejects.toThrow(
        new RegExp(`^s3Storage: ${name} failed in bucket "${at.bucket}": HTTP 404 `),
      )
    }
  })

  it('rejects for a bucket that has been deleted in the meantime', async () => {
    const gone = `${bucket}-gone`
    await client.send(new CreateBucketCommand({ Bucket: gone }))
    expect(await storage.head({ bucket: gone, key: 'a' })).toBeNull()
    await client.send(new DeleteBucketCommand({ Bucket: gone }))
    await expect(storage.head({ bucket: gone, key: 'a' })).rejects.toThrow('HTTP 404')
  })

  it('rejects without permission and with a wrong secret', async () => {
    const at = { bucket, key: 'a' }
    const wrong = clientOf(server, { credentials: { ...server.owner, secretAccessKey: 'wrong' } })
    const strangers = [wrong, ...(server.guest ? [clientOf(server, { credentials: server.guest })] : [])]
    for (const stranger of strangers) {
      const other = s3Storage({ client: stranger })
      await expect(other.head(at)).rejects.toThrow('HTTP 403')
      await expect(other.remove(at)).rejects.toThrow('HTTP 403')
      await expect(other.multipart!.list(at)).rejects.toThrow('HTTP 403')
      expect(await put(await other.signUpload(uploadTo(bucket)))).toMatchObject({ status: 403 })
    }
  })

  it('signs nothing if the signal is aborted', async () => {
    const signal = AbortSignal.abort(new Error('gone'))
    const part = partOf({ bucket, key: 'a', uploadId: 'u' })
    for (const call of [
      storage.signUpload({ ...uploadTo(bucket), signal }),
      storage.signDownload({ ...downloadFrom(bucket, 'a'), signal }),
      storage.multipart!.signPart({ ...part, signal }),
    ]) {
      await expect(call).rejects.toThrow(/^gone$/)
    }
  })
})
