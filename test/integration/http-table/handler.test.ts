import { describe } from 'vitest'
import { serveByHandlerAlone } from './bare-node-server.js'
import { describeDbEndpoints } from './db-endpoints.js'
import { describeJsonBodies } from './json-bodies.js'
import { describeMultipartLife } from './multipart-life.js'
import { describeObjectLife } from './object-life.js'

describe('the handler alone', () => {
  describeDbEndpoints(serveByHandlerAlone)
  describeJsonBodies(serveByHandlerAlone)
  describeObjectLife(serveByHandlerAlone)
  describeMultipartLife(serveByHandlerAlone)
})
