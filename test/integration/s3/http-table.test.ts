import { s3Storage } from '@svc/db/s3'
import { expect } from 'vitest'
import { serveByHandlerAlone } from '../http-table/bare-node-server.js'
import { describeMultipartLife } from '../http-table/multipart-life.js'
import { describeObjectLife, type BucketManners } from '../http-table/object-life.js'
import { clientOf, describeS3, freshBucket } from './places.js'

describeS3('a server over s3Storage', (place) => {
  const client = clientOf(place)
  const bucket = freshBucket(client)
  const manners: BucketManners = {
    place: { storage: s3Storage({ client }), bucket },
    urlStart: `${place.endpoint}/${bucket}/`,
    servesHead: false,
    otherSize: { status: 403, body: expect.stringContaining('<Code>SignatureDoesNotMatch</Code>') },
    taken: 412,
  }
  describeObjectLife(serveByHandlerAlone, manners)
  describeMultipartLife(serveByHandlerAlone, manners)
})
