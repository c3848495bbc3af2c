import { s3Storage } from '@svc/db/s3'
import { expect } from 'vitest'
import { serveByHandlerAlone } from '../http-table/bare-node-server.js'
import { describeMultipartLife } from '../http-table/multipart-life.js'
import { describeObjectLife, type BucketBehavior } from '../http-table/object-life.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'

describeS3('a server with s3Storage', (server) => {
  const client = clientOf(server)
  const bucket = freshBucket(client)
  const behavior: BucketBehavior = {
    target: { storage: s3Storage({ client }), bucket },
    urlStart: `${server.endpoint}/${bucket}/`,
    servesHead: false,
    deletedObject: 200,
    wrongSize: { status: 403, body: expect.stringContaining('<Code>SignatureDoesNotMatch</Code>') },
    secondUpload: 412,
  }
  describeObjectLife(serveByHandlerAlone, behavior)
  describeMultipartLife(serveByHandlerAlone, behavior)
})
