import { describeDbEndpoints } from './db-endpoints.js'
import { openInMemory, type Serve } from './fixture.js'
import { describeJsonBodies } from './json-bodies.js'
import { describeMultipartLife } from './multipart-life.js'
import { describeObjectLife } from './object-life.js'
import { describeReading } from './reading.js'
import { describeUploadRoutes } from './upload-routes.js'

/** Tests the complete HTTP API with any server, over the stores that `open` returns. */
export function describeWholeTable(serve: Serve, open = openInMemory): void {
  describeDbEndpoints(serve, open)
  describeJsonBodies(serve)
  describeObjectLife(serve, undefined, open)
  describeMultipartLife(serve, undefined, open)
  describeReading(serve, open)
  describeUploadRoutes(serve, open)
}
