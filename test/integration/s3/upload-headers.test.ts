import { HeadObjectCommand, PutBucketPolicyCommand } from '@aws-sdk/client-s3'
import { eraseScope } from '@svc/db'
import { s3Storage } from '@svc/db/s3'
import { beforeAll, expect, it } from 'vitest'
import { ManualClock } from '../../conformance/clock.js'
import { PART, uploaded } from '../../unit/server/multipart/in-parts.js'
import { bytesOfSize, cleanUpItems, outcomesOf } from '../../unit/server/service.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'
import { expectAccounted, FILE, LATER, serviceOn } from './service-on-s3.js'

const ANN = 'user:ann'
const REQUIRED = { 'x-amz-acl': 'bucket-owner-full-control', 'x-amz-storage-class': 'STANDARD' }

describeS3('a bucket whose policy denies writes without a header', (server) => {
  const client = clientOf(server)
  const bucket = freshBucket(client)
  beforeAll(async () => {
    const Statement = {
      ...{ Effect: 'Deny', Principal: '*', Action: 's3:PutObject', Resource: `arn:aws:s3:::${bucket}/*` },
      Condition: { StringNotEquals: { 's3:x-amz-acl': REQUIRED['x-amz-acl'] } },
    }
    const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [Statement] })
    await client.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy }))
  })

  it('refuses uploads without uploadHeaders', async () => {
    const { s3, as } = serviceOn(client, bucket)
    const { upload } = await as(ANN).begun(FILE)
    expect((await as(ANN).put(upload, bytesOfSize(3))).status).toBe(403)
    await expect(s3.files.put({ ...FILE, scope: ANN, filename: 'a', body: 'a' })).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    })
  })

  it('takes uploads, files of the server and removals with uploadHeaders', async () => {
    const clock = new ManualClock()
    const own = serviceOn(client, bucket, {
      clock,
      storage: () => s3Storage({ client, uploadHeaders: REQUIRED, now: clock.now }),
    })
    const { s3, as, objects } = own
    const { headers } = (await as(ANN).begun(FILE)).upload
    expect(headers).toMatchObject(REQUIRED)
    await as(ANN).upload(FILE)
    await s3.files.put({ ...FILE, scope: ANN, filename: 'a', body: 'a' })
    clock.advance(LATER)
    await cleanUpItems(s3)
    await expectAccounted(own, { client, bucket, scopes: [ANN] })

    // An empty object takes the place of each file that a URL could write again.
    await as(ANN).upload(FILE)
    expect(await eraseScope(s3, { scope: ANN })).toMatchObject({ objects: 3, failed: [] })
    const [leftover] = await objects.listLeftovers()
    const at = { Bucket: bucket, Key: leftover!.storageKey! }
    expect(await client.send(new HeadObjectCommand(at))).toMatchObject({ ContentLength: 0 })
    clock.advance(200 * LATER)
    expect(outcomesOf((await cleanUpItems(s3)).leftovers)).not.toContain('failed')
  })
})

describeS3('uploadHeaders', (server) => {
  const client = clientOf(server)
  const bucket = freshBucket(client)

  it('are set where an upload in parts is created', async () => {
    const uploadHeaders = { 'x-amz-acl': 'public-read' }
    const clock = new ManualClock()
    const storage = () => s3Storage({ client, uploadHeaders, now: clock.now })
    const { s3, as } = serviceOn(client, bucket, { clock, storage })
    const size = PART + 5
    const sent = await uploaded(as(ANN), { ...FILE, size })
    const put = await s3.files.put({ ...FILE, scope: ANN, filename: 'a', body: bytesOfSize(size) })
    for (const key of [sent.key, put.storageKey!]) {
      expect((await fetch(`${server.endpoint}/${bucket}/${key}`, { method: 'HEAD' })).status).toBe(200)
    }
  })
})
