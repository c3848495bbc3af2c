import { s3Storage } from '@svc/db/s3'
import { describeCrashes } from '../../unit/server/crash-flows.js'
import { clientOf, describeS3, freshBucket } from './places.js'

describeS3('a server over s3Storage', (place) => {
  const client = clientOf(place)
  const bucketName = freshBucket(client)
  describeCrashes({ bucketName, storage: (now) => s3Storage({ client, now }) }, { jobCrashes: 0 })
})
