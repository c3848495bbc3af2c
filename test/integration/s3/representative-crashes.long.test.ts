import { representativeCrashFlows } from '../../unit/server/crash-flows.js'
import { describeCrashesOnS3, describeErasureCrashesOnS3 } from './crashes-on-s3.js'

describeCrashesOnS3(representativeCrashFlows, 6)
describeErasureCrashesOnS3(60)
