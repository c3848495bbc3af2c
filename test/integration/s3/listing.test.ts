import { s3Storage } from '@svc/db/s3'
import { expect, it } from 'vitest'
import { testListing } from '../../unit/storage/object-storage-contract/listing.js'
import { bucketOfTest, clientOf, describeS3, freshName } from './s3-server.js'

describeS3('the listing of s3Storage', (server) => {
  const client = clientOf(server)
  const storage = s3Storage({ client })

  testListing(() => ({ storage, freshBucket: () => bucketOfTest(client) }), 4)

  it('rejects for a missing bucket', async () => {
    const bucket = freshName()
    await expect(storage.list!({ bucket, limit: 1 })).rejects.toThrow(
      `s3Storage: list failed in bucket ${JSON.stringify(bucket)}: HTTP 404 NoSuchBucket`,
    )
  })
})
