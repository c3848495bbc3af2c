import { memoryAdapter } from '@svc/db/memory'
import { describeEndingRaces } from './describe-ending-races.js'

describeEndingRaces(30, async (now) => memoryAdapter({ now }))
