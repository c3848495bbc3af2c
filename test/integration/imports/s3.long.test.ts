import { describeImportOnS3 } from './import-on-s3.js'

// Several pages of the bucket.
describeImportOnS3(3_500)
