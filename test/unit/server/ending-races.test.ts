import { memoryAdapter } from '@svc/db/memory'
import { describeEndingRaces } from './describe-ending-races.js'

describeEndingRaces(8, async (now) => memoryAdapter({ now }))
