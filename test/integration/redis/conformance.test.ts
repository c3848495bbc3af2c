import { groups } from '../../conformance-groups.js'
import { conformanceOnRedis, isForLongRuns } from './conformance.js'

conformanceOnRedis({ test: groups((group) => !isForLongRuns(group)), numRuns: 1 })
