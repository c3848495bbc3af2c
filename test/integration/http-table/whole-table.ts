import { describeDbEndpoints } from './db-endpoints.js'
import { openInMemory, type Serve } from './fixture.js'
import { describeJsonBodies } from './json-bodies.js'
import { describeMultipartLife, ONE_AND_TWO_PARTS } from './multipart-life.js'
import { describeObjectLife } from './object-life.js'
import { describeReading } from './reading.js'
import { describeUploadRoutes } from './upload-routes.js'

/** Tests the complete HTTP API with any server, over the stores that `open` returns, with multipart uploads of these sizes. */
export function describeWholeTable(
  serve: Serve,
  open = openInMemory,
  multipartSizes = ONE_AND_TWO_PARTS,
): void {
  describeDbEndpoints(serve, open)
  describeJsonBodies(serve)
  describeObjectLife(serve, undefined, open)
  describeMultipartLife(serve, undefined, open, multipartSizes)
  describeReading(serve, open)
  describeUploadRoutes(serve, open)
}
