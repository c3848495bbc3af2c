import { groups, isLongLists } from '../../conformance-groups.js'
import { conformanceOnPglite } from './conformance.js'

conformanceOnPglite({ test: groups((group) => !isLongLists(group)), numRuns: 4 })
