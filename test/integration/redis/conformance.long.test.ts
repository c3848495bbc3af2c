import { groups, isScripts } from '../../conformance-groups.js'
import { conformanceOnRedis } from './conformance.js'

conformanceOnRedis({ test: groups(isScripts), numRuns: 30 })
