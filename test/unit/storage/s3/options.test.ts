import { S3Client } from '@aws-sdk/client-s3'
import { s3Storage, type S3StorageOptions } from '@svc/db/s3'
import { expect, it } from 'vitest'

process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true'
const client = new S3Client({ region: 'us-east-1' })

it.each<[unknown, string]>([
  [undefined, 'the options must be an object (got undefined).'],
  [{}, 'client must be an S3Client from @aws-sdk/client-s3.'],
  [client, 'unknown option "config". Allowed are client, publicClient,'],
  [{ client: { send: () => {} } }, 'client must be an S3Client from @aws-sdk/client-s3.'],
  [{ client, timeoutSeconds: 0 }, 'timeoutSeconds must be a number above 0 and at most 2147483 (got 0).'],
  [
    { client, timeoutSeconds: '30' },
    'timeoutSeconds must be a number above 0 and at most 2147483 (got "30").',
  ],
  [{ client, completeTimeoutSeconds: NaN }, 'completeTimeoutSeconds must be a number above 0'],
  [{ client, completeTimeoutSeconds: 1e10 }, 'completeTimeoutSeconds must be a number above 0'],
  [{ client, idleSeconds: 86_401 }, 'idleSeconds must be a number above 0 and at most 86400 (got 86401).'],
  [{ client, publicClient: {} }, 'publicClient must be an S3Client from @aws-sdk/client-s3.'],
  [{ client, createOnly: 'no' }, 'createOnly must be true or false (got "no").'],
  [{ client, maxParts: 10_001 }, 'maxParts must be an integer from 1 to 10000 (got 10001).'],
  [{ client, uploadHeaders: 'x-amz-acl' }, 'uploadHeaders must be an object (got "x-amz-acl").'],
  [
    { client, uploadHeaders: { 'content-type': 'a/b' } },
    'unknown option "uploadHeaders.content-type". Allowed are x-amz-server-side-encryption,',
  ],
  [
    { client, uploadHeaders: { 'x-amz-acl': '' } },
    'uploadHeaders["x-amz-acl"] must be printable ASCII text (got "").',
  ],
  [
    { client, uploadHeaders: { 'x-amz-tagging': 'a=ä' } },
    'uploadHeaders["x-amz-tagging"] must be printable ASCII',
  ],
  [{ client, bucketName: 'a' }, 'bucketName must be a function (got "a").'],
  [{ client, now: new Date() }, 'now must be a function (got an object).'],
])('s3Storage refuses invalid options: %#', (options, message) => {
  expect(() => s3Storage(options as S3StorageOptions)).toThrow(TypeError)
  expect(() => s3Storage(options as S3StorageOptions)).toThrow(`s3Storage: ${message}`)
})

it('s3Storage accepts null for optional options', () => {
  const storage = s3Storage({
    ...{ client, timeoutSeconds: null, completeTimeoutSeconds: null, idleSeconds: null, now: null },
    ...{ publicClient: null, createOnly: null, maxParts: null, uploadHeaders: null },
  })
  expect(Object.keys(storage).sort()).toEqual([
    'createOnly',
    'head',
    'list',
    'multipart',
    'read',
    'remove',
    'signDownload',
    'signUpload',
    'verify',
    'write',
  ])
})
