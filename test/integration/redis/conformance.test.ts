import { everyGroup } from '../../conformance-groups.js'
import { conformanceOnRedis } from './conformance.js'

conformanceOnRedis({ test: everyGroup, numRuns: 2 })
