import { S3Client } from '@aws-sdk/client-s3'
import { s3Storage, type S3StorageOptions } from '@svc/db/s3'
import { expect, it } from 'vitest'

process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true'
const client = new S3Client({ region: 'us-east-1' })

it.each<[unknown, string]>([
  [undefined, 'client must be an S3Client from @aws-sdk/client-s3.'],
  [{}, 'client must be an S3Client from @aws-sdk/client-s3.'],
  [client, 'client must be an S3Client from @aws-sdk/client-s3.'],
  [{ client: { send: () => {} } }, 'client must be an S3Client from @aws-sdk/client-s3.'],
  [{ client, timeoutSeconds: 0 }, 'timeoutSeconds must be a number above 0 and at most 2147483 (got 0).'],
  [
    { client, timeoutSeconds: '30' },
    'timeoutSeconds must be a number above 0 and at most 2147483 (got "30").',
  ],
  [{ client, completeTimeoutSeconds: NaN }, 'completeTimeoutSeconds must be a number above 0'],
  [{ client, completeTimeoutSeconds: 1e10 }, 'completeTimeoutSeconds must be a number above 0'],
  [{ client, idleSeconds: 86_401 }, 'idleSeconds must be a number above 0 and at most 86400 (got 86401).'],
  [{ client, bucketName: 'a' }, 'bucketName must be a function (got "a").'],
  [{ client, now: new Date() }, 'now must be a function (got an object).'],
])('s3Storage refuses invalid options: %#', (options, message) => {
  expect(() => s3Storage(options as S3StorageOptions)).toThrow(TypeError)
  expect(() => s3Storage(options as S3StorageOptions)).toThrow(`s3Storage: ${message}`)
})

it('s3Storage accepts null for optional options', () => {
  const storage = s3Storage({
    ...{ client, timeoutSeconds: null, completeTimeoutSeconds: null, idleSeconds: null, now: null },
  })
  expect(Object.keys(storage).sort()).toEqual([
    'head',
    'list',
    'multipart',
    'read',
    'remove',
    'signDownload',
    'signUpload',
    'write',
  ])
})
