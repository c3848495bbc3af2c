import { s3Storage } from '@svc/db/s3'
import { isLongRun, runs } from '../../long-runs.js'
import { crashFlows, representativeCrashFlows } from '../../unit/server/crash-flows.js'
import { describeCrashes } from '../../unit/server/describe-crashes.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'

describeS3('a server with s3Storage', (server) => {
  const client = clientOf(server)
  const bucketName = freshBucket(client)
  describeCrashes(isLongRun ? crashFlows : representativeCrashFlows, {
    bucket: { bucketName, storage: (now) => s3Storage({ client, now }) },
    step: runs(2, 1),
  })
})
