import { groups, isLongLists, isScripts } from '../../conformance-groups.js'
import { conformanceOnRedis } from './conformance.js'

conformanceOnRedis({ test: groups((group) => isScripts(group) || isLongLists(group)), numRuns: 30 })
