import { groups, isLongLists, isScripts } from '../../conformance-groups.js'
import { conformanceOnSqlite } from './conformance.js'

conformanceOnSqlite({ test: groups((group) => !isScripts(group) && !isLongLists(group)), numRuns: 1 })
