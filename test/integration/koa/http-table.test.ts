import { describeSmokeTables } from '../http-table/describe-http-table.js'
import { versions } from './versions.js'
import { ways } from './ways.js'

describeSmokeTables(versions, ways)
