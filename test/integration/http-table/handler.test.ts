import { describe } from 'vitest'
import { serveByHandlerAlone } from './bare-node-server.js'
import { describeWholeTable } from './whole-table.js'

describe('the handler alone', () => {
  describeWholeTable(serveByHandlerAlone)
})
