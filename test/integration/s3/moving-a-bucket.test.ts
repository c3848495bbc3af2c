import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { checkStorage, type StorageDifference } from '@svc/db'
import { s3Storage } from '@svc/db/s3'
import { expect, it } from 'vitest'
import { removeBucket } from '../../servers/s3-buckets.js'
import { begun, complete, sendParts } from '../../unit/server/multipart/in-parts.js'
import { bytesOfSize, cleanUpItems, expectStatus, outcomesOf } from '../../unit/server/service.js'
import { bucketOfTest, clientOf, describeS3, freshName, keysIn } from './s3-server.js'
import { FILE, LATER, serviceOn } from './service-on-s3.js'

const ANN = 'user:ann'

describeS3('a bucket that was moved', (server) => {
  const client = clientOf(server)

  it('has another name in the service only', async () => {
    const old = freshName()
    await client.send(new CreateBucketCommand({ Bucket: old }))
    const before = serviceOn(client, old)
    const ann = before.as(ANN)
    const small = await ann.upload(FILE)
    const large = await begun(ann, { ...FILE, size: 9 * 1024 ** 2 })
    await sendParts(ann, large)
    await expectStatus(await complete(ann, large), 200)
    const obsolete = await ann.upload(FILE)

    const bucket = await bucketOfTest(client)
    for (const key of await keysIn(client, old)) {
      // In one piece, as most tools do.
      const file = await client.send(new GetObjectCommand({ Bucket: old, Key: key }))
      const { ContentType, Metadata } = file
      const Body = await file.Body!.transformToByteArray()
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body, ContentType, Metadata }))
    }
    await removeBucket(client, old)

    const { clock, objects } = before
    const after = serviceOn(client, old, {
      ...{ clock, objects },
      storage: () => s3Storage({ client, now: clock.now, bucketName: () => bucket }),
    })
    const usage = await objects.getScopeUsage(ANN)
    const check = async (decision?: 'accept') => {
      const found: StorageDifference[] = []
      const result = await checkStorage(after.s3, {
        onDifference: (difference) => {
          found.push(difference)
          return decision
        },
      })
      return { result, found: found.map(({ kind, object }) => [kind, object?.key]) }
    }
    expect((await check()).found).toEqual([['changed', large.object.key]])
    expect((await check('accept')).result).toMatchObject({ items: 3, rows: 3, changed: 0, accepted: 1 })
    expect((await check()).found).toEqual([])
    expect(await objects.getScopeUsage(ANN)).toEqual(usage)

    const caller = after.as(ANN)
    expect(await caller.bytes(small.key)).toEqual(bytesOfSize(3))
    expect((await caller.bytes(large.object.key)).byteLength).toBe(9 * 1024 ** 2)
    await expectStatus(await caller.delete(obsolete.key), 204)
    expect(await caller.upload(FILE)).toMatchObject({ bucket: old, status: 'active' })
    const inParts = await begun(caller, FILE)
    await sendParts(caller, inParts)
    await expectStatus(await complete(caller, inParts), 200)
    clock.advance(LATER)
    expect(outcomesOf((await cleanUpItems(after.s3)).leftovers)).toEqual(['removed'])
    expect((await check()).result).toMatchObject({ items: 4, rows: 4, missing: 0, unrecorded: 0 })
  })
})
