import { representativeCrashFlows } from '../../unit/server/crash-flows.js'
import { describeCrashesOnS3 } from './crashes-on-s3.js'

describeCrashesOnS3(representativeCrashFlows, 6)
