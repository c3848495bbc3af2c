import { everyGroup } from '../../conformance-groups.js'
import { conformanceOnSqlite } from './conformance.js'

conformanceOnSqlite({ test: everyGroup, numRuns: 1 })
