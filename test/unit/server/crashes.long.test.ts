import { crashFlows } from './crash-flows.js'
import { describeCrashes } from './describe-crashes.js'

describeCrashes(crashFlows, { maxJobCalls: 16 })
