import { CreateBucketCommand, DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { s3Storage } from '@svc/db/s3'
import { beforeEach, describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../conformance/clock.js'
import { cleanUpItems, bytesOfSize, outcomesOf } from '../../unit/server/service.js'
import { removeBucket } from '../../servers/s3-buckets.js'
import { itRemovesEndedBytes } from '../storages/ended-bytes.js'
import { bucketOfTest, clientOf, describeS3, freshBucket, freshName, keysIn } from './s3-server.js'
import { FILE, LATER, REPORT, serviceOn } from './service-on-s3.js'

const ANN = 'user:ann'

describeS3('cleanUp with s3Storage', (server) => {
  const client = clientOf(server)

  it('removes replaced bytes, and no objects without a record', async () => {
    const bucket = await bucketOfTest(client)
    const service = serviceOn(client, bucket)
    const ann = service.as(ANN)
    const first = await ann.upload(REPORT, 1)
    const { storageKey: obsolete } = (await service.objects.findActive(first))!
    await ann.upload(REPORT, 2)
    const { storageKey: current } = (await service.objects.findActive(first))!
    const foreign = [first.key, `${obsolete}x`, obsolete!.slice(0, -1), `${first.key}~`, 'files/other']
    for (const Key of foreign) {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'not ours' }))
    }
    service.clock.advance(LATER)
    expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['removed'])
    service.clock.advance(5 * MINUTE)
    expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['forgotten'])
    expect((await keysIn(client, bucket)).sort()).toEqual([...foreign, current].sort())
    expect(await ann.bytes(first.key)).toEqual(bytesOfSize(3, 2))
  })

  describe('of objects past their end', () => {
    const bucket = freshBucket(client)
    beforeEach(async () => {
      for (const Key of await keysIn(client, bucket)) {
        await client.send(new DeleteObjectCommand({ Bucket: bucket, Key }))
      }
    })
    itRemovesEndedBytes({
      bucket,
      storageOf: (now) => s3Storage({ client, now }),
      keysOf: () => keysIn(client, bucket),
    })
  })

  it('changes nothing if the bucket does not exist', async () => {
    const bucket = freshName()
    const service = serviceOn(client, bucket, { routes: { files: {} } })
    const ann = service.as(ANN)
    const kept = await ann.begun(FILE)
    const aborted = await ann.begun(FILE)
    await ann.abort(aborted.object)
    service.clock.advance(LATER)
    for (let run = 0; run < 2; run++) {
      const { reservations, leftovers } = await cleanUpItems(service.s3)
      expect([outcomesOf(reservations), outcomesOf(leftovers)]).toEqual([['failed'], ['failed']])
      service.clock.advance(HOUR)
    }
    expect(await service.objects.findPending(kept.object)).not.toBeNull()
    expect(await service.objects.listLeftovers()).toHaveLength(1)

    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    const { reservations, leftovers } = await cleanUpItems(service.s3)
    expect([outcomesOf(reservations), outcomesOf(leftovers)]).toEqual([
      ['released'],
      ['waiting', 'forgotten'],
    ])
    await removeBucket(client, bucket)
  })
})
