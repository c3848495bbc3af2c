import { groups, isLongLists, isScripts } from '../../conformance-groups.js'
import { conformanceOnPglite, conformanceOnPostgres, conformanceOnPostgresJs } from './conformance.js'

conformanceOnPostgres({ test: groups(isScripts), numRuns: 30 })

const short = groups((group) => !isLongLists(group))
conformanceOnPostgresJs({ test: short, numRuns: 4 })
conformanceOnPglite({ test: short, numRuns: 4 })
