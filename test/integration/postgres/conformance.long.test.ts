import { groups, isLongLists, isScripts } from '../../conformance-groups.js'
import { conformanceOnPostgres, conformanceOnPostgresJs } from './conformance.js'

conformanceOnPostgres({ test: groups(isScripts), numRuns: 30 })

conformanceOnPostgresJs({ test: groups((group) => !isLongLists(group)), numRuns: 4 })
