import { s3Storage } from '@svc/db/s3'
import { expect } from 'vitest'
import { serveByHandlerAlone } from '../http-table/bare-node-server.js'
import { describeMultipartLife } from '../http-table/multipart-life.js'
import { describeObjectLife, type BucketManners } from '../http-table/object-life.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'

describeS3('a server with s3Storage', (server) => {
  const client = clientOf(server)
  const bucket = freshBucket(client)
  const manners: BucketManners = {
    place: { storage: s3Storage({ client }), bucket },
    urlStart: `${server.endpoint}/${bucket}/`,
    servesHead: false,
    otherSize: { status: 403, body: expect.stringContaining('<Code>SignatureDoesNotMatch</Code>') },
    taken: 412,
  }
  describeObjectLife(serveByHandlerAlone, manners)
  describeMultipartLife(serveByHandlerAlone, manners)
})
