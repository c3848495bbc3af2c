import { representativeCrashFlows, smallCrashFlows } from './crash-flows.js'
import { describeCrashes } from './describe-crashes.js'

const others = Object.entries(smallCrashFlows).filter(([name]) => !(name in representativeCrashFlows))
describeCrashes(Object.fromEntries(others), { step: 16 })
describeCrashes(representativeCrashFlows, { step: 16, maxJobCalls: 16 })
