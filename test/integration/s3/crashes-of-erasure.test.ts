import { describeErasureCrashesOnS3 } from './crashes-on-s3.js'

describeErasureCrashesOnS3(60)
