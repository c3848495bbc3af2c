import { groups, isScripts } from '../../conformance-groups.js'
import { conformanceOnSqlite } from './conformance.js'

conformanceOnSqlite({ test: groups(isScripts), numRuns: 30 })
