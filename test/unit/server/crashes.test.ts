import { describeCrashes } from './describe-crashes.js'
import { crashFlows } from './crash-flows.js'

describeCrashes(crashFlows, { maxJobCalls: 16 })
