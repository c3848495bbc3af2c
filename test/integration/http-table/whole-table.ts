import { describeDbEndpoints } from './db-endpoints.js'
import type { Serve } from './fixture.js'
import { describeJsonBodies } from './json-bodies.js'
import { describeMultipartLife } from './multipart-life.js'
import { describeObjectLife } from './object-life.js'
import { describeReading } from './reading.js'
import { describeUploadRoutes } from './upload-routes.js'

/** Tests the complete HTTP API with any server. */
export function describeWholeTable(serve: Serve): void {
  describeDbEndpoints(serve)
  describeJsonBodies(serve)
  describeObjectLife(serve)
  describeMultipartLife(serve)
  describeReading(serve)
  describeUploadRoutes(serve)
}
