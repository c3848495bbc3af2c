import { describeImportOnS3 } from './import-on-s3.js'

describeImportOnS3(20)
