// Creates a storage with a client from the copy of the SDK that the argument names. Prints the error, or "created".
import { s3Storage } from '@svc/db/s3'

process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'
const { S3Client } = await import(process.argv[2])
try {
  s3Storage({ client: new S3Client({ region: 'us-east-1' }) })
  console.log('created')
} catch (error) {
  console.log(`${error.name}: ${error.message}`)
}
