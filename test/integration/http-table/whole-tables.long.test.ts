import { describe } from 'vitest'
import { KOA_AND_HONO } from './other-servers.js'
import { describeWholeTable } from './whole-table.js'

describe.each(Object.entries(KOA_AND_HONO))('the whole table, %s', (_name, serve) => {
  describeWholeTable(serve)
})
