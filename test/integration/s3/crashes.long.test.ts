import { crashFlows } from '../../unit/server/crash-flows.js'
import { describeCrashesOnS3, describeErasureCrashesOnS3 } from './crashes-on-s3.js'

describeCrashesOnS3(crashFlows, 1)
describeErasureCrashesOnS3(3)
