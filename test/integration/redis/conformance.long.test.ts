import { groups } from '../../conformance-groups.js'
import { conformanceOnRedis, isForLongRuns } from './conformance.js'

conformanceOnRedis({ test: groups(isForLongRuns), numRuns: 30 })
