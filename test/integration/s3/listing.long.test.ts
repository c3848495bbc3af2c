import { s3Storage } from '@svc/db/s3'
import { testPagesOfListing } from '../../unit/storage/object-storage-contract/listing.js'
import { bucketOfTest, clientOf, describeS3 } from './s3-server.js'

describeS3('the listing of s3Storage', (server) => {
  const client = clientOf(server)
  testPagesOfListing(() => ({ storage: s3Storage({ client }), freshBucket: () => bucketOfTest(client) }), 200)
})
