import {
  DeleteBucketPolicyCommand,
  GetBucketLifecycleConfigurationCommand,
  PutBucketCorsCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  type BucketLifecycleConfiguration,
  type CORSConfiguration,
} from '@aws-sdk/client-s3'
import { createAttemptId, type ObjectStorage } from '@svc/db'
import { s3Storage } from '@svc/db/s3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { downloadFrom, get, HELLO, partOf, put, uploadTo } from './browser-requests.js'
import { documentedSettings } from './documented-settings.js'
import { grant } from './permissions.js'
import { clientOf, describeS3, freshBucket, type S3Server } from './s3-server.js'

describeS3('the settings in docs/s3.md', (server) => {
  const owner = clientOf(server)

  describe.skipIf(server.guest === null)('for permissions (the tests need a second account)', () => {
    const bucket = freshBucket(owner)
    const guest = clientOf(server, { credentials: server.guest ?? server.owner })
    const storage = s3Storage({ client: guest })

    const allow = (except?: string) => grant({ owner, bucket, account: server.guest! }, { except })

    it('are sufficient', async () => {
      await allow()
      await everything(storage, bucket, { owner })
    })

    // Ceph does not require s3:ListMultipartUploadParts for the account's own uploads.
    it.each([
      's3:PutObject',
      's3:GetObject',
      's3:DeleteObject',
      's3:ListBucket',
      's3:AbortMultipartUpload',
      's3:ListBucketMultipartUploads',
    ])('require %s', async (action) => {
      await allow(action)
      await expect(everything(storage, bucket, { owner })).rejects.toThrow('403')
    })
  })

  describe('for CORS', () => {
    const bucket = freshBucket(owner)
    const storage = s3Storage({ client: owner })
    const origin = 'https://app.example'
    beforeAll(async () => {
      const CORSConfiguration = documentedSettings<CORSConfiguration>('CORSRules', bucket)
      await owner.send(new PutBucketCorsCommand({ Bucket: bucket, CORSConfiguration }))
    })

    const asked = (url: string, from: string, method: string, headers: readonly string[]) =>
      fetch(url, {
        method: 'OPTIONS',
        headers: {
          origin: from,
          'access-control-request-method': method,
          'access-control-request-headers': headers.join(','),
        },
      })

    it('allow a page of the application to upload, in parts too, and to download', async () => {
      const upload = uploadTo(bucket)
      const signed = await storage.signUpload(upload)
      const preflight = await asked(signed.url, origin, 'PUT', Object.keys(signed.headers).sort())
      expect(preflight.status).toBe(200)
      expect(preflight.headers.get('access-control-allow-origin')).toBe(origin)
      expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT')
      const allowed = preflight.headers.get('access-control-allow-headers')!.toLowerCase()
      for (const name of Object.keys(signed.headers)) expect(allowed).toContain(name)

      const response = await put({ url: signed.url, headers: { ...signed.headers, origin } })
      expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, origin])
      const { url } = await storage.signDownload(downloadFrom(bucket, upload.key))
      const download = await fetch(url, { headers: { origin } })
      expect(download.headers.get('access-control-allow-origin')).toBe(origin)

      const at = { bucket, key: createAttemptId() }
      const begun = await storage.multipart!.create({ ...at, contentType: 'a/b', attemptId: 'a' })
      const part = await storage.multipart!.signPart(partOf({ ...at, ...begun }))
      // Browsers set the type of a file themselves.
      expect((await asked(part.url, origin, 'PUT', ['content-type'])).status).toBe(200)
    })

    it('refuse other pages', async () => {
      const { url, headers } = await storage.signUpload(uploadTo(bucket))
      const preflight = await asked(url, 'https://other.example', 'PUT', Object.keys(headers).sort())
      expect(preflight.headers.get('access-control-allow-origin')).toBeNull()
    })
  })

  describe('for the lifecycle', () => {
    const bucket = freshBucket(owner)

    it('are accepted by the service', async () => {
      const LifecycleConfiguration = documentedSettings<BucketLifecycleConfiguration>('Rules', bucket)
      const at = { Bucket: bucket }
      await owner.send(new PutBucketLifecycleConfigurationCommand({ ...at, LifecycleConfiguration }))
      const { Rules } = await owner.send(new GetBucketLifecycleConfigurationCommand(at))
      expect(Rules).toMatchObject([{ AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 } }])
    })
  })

  describe('against unsigned headers', () => {
    describeUnsignedHeaders(server)
  })
})

/** Performs all actions of the server and the browsers. Throws if any is refused. */
async function everything(
  storage: ObjectStorage,
  bucket: string,
  { owner }: { owner: ReturnType<typeof clientOf> },
): Promise<void> {
  const upload = uploadTo(bucket)
  expect(await storage.head(upload)).toBeNull()
  expect((await put(await storage.signUpload(upload))).status).toBe(200)
  expect(await storage.head(upload)).toMatchObject({ size: HELLO.byteLength })
  // Accounts can read their own objects. Reading another account's object requires the permission.
  const others = { bucket, key: createAttemptId() }
  await owner.send(new PutObjectCommand({ Bucket: bucket, Key: others.key, Body: HELLO }))
  expect(await storage.head(others)).toMatchObject({ size: HELLO.byteLength })
  const { url } = await storage.signDownload(downloadFrom(bucket, others.key))
  expect((await get(url)).body).toBe('hello')
  await storage.remove(upload)
  expect(await storage.head(upload)).toBeNull()

  const multipart = storage.multipart!
  const begin = async () => {
    const { uploadId } = await multipart.create({ ...upload, contentType: 'a/b', attemptId: 'a' })
    return { bucket, key: upload.key, uploadId }
  }
  const finished = await begin()
  expect((await put(await multipart.signPart(partOf(finished)))).status).toBe(200)
  const { parts } = (await multipart.listParts({ ...finished, after: 0 }))!
  expect(await multipart.complete({ ...finished, parts })).toBe(true)
  const given = await begin()
  expect(await multipart.list(upload)).toEqual([given.uploadId])
  await multipart.abort(given)
  await storage.remove(upload)
}

const EVERYONE = 'uri="http://acs.amazonaws.com/groups/global/AllUsers"'

/** Ceph accepts unsigned headers; Amazon S3 refuses them. */
function describeUnsignedHeaders(server: S3Server): void {
  const owner = clientOf(server)
  const bucket = freshBucket(owner)
  const storage = s3Storage({ client: owner })
  beforeAll(async () => {
    await owner.send(new PutObjectCommand({ Bucket: bucket, Key: 'another object', Body: 'hello' }))
    const Policy = JSON.stringify(documentedSettings('Deny', bucket))
    await owner.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy }))
  })
  afterAll(async () => {
    await owner.send(new DeleteBucketPolicyCommand({ Bucket: bucket }))
  })

  const others: readonly (readonly [what: string, headers: Readonly<Record<string, string>>])[] = [
    ['a copy of another object', { 'x-amz-copy-source': 'another%20object' }],
    ['a copy with new metadata', { 'x-amz-metadata-directive': 'REPLACE' }],
    ['a publicly readable file', { 'x-amz-acl': 'public-read' }],
    ['a publicly writable file', { 'x-amz-acl': 'public-read-write' }],
    ['a file that all accounts can read', { 'x-amz-acl': 'authenticated-read' }],
    ...['read', 'write', 'read-acp', 'write-acp', 'full-control'].map(
      (right) => [`a grant of ${right} to everyone`, { [`x-amz-grant-${right}`]: EVERYONE }] as const,
    ),
  ]
  it.each(others)('prevent %s', async (_, unsigned) => {
    const upload = uploadTo(bucket)
    const { url, headers } = await storage.signUpload(upload)
    const isCopy = Object.keys(unsigned).every((name) => !/acl|grant/.test(name))
    const source = { 'x-amz-copy-source': `/${bucket}/another%20object` }
    const response = await put({ url, headers: { ...headers, ...unsigned, ...(isCopy && source) } })
    expect(response.status).toBe(403)
    expect(await storage.head(upload)).toBeNull()
  })

  it.each(['x-amz-tagging', 'x-amz-website-redirect-location', 'x-amz-storage-class', 'x-amz-meta-other'])(
    'do not prevent %s',
    async (name) => {
      const { url, headers } = await storage.signUpload(uploadTo(bucket))
      const value = name === 'x-amz-storage-class' ? 'STANDARD' : 'https://other.example'
      expect((await put({ url, headers: { ...headers, [name]: value } })).status).toBe(200)
    },
  )

  it.each([
    { 'x-amz-object-lock-legal-hold': 'ON' },
    { 'x-amz-object-lock-mode': 'COMPLIANCE', 'x-amz-object-lock-retain-until-date': '2099-01-01T00:00:00Z' },
  ])('are not needed against %j in a bucket without Object Lock', async (unsigned) => {
    const { url, headers } = await storage.signUpload(uploadTo(bucket))
    expect((await put({ url, headers: { ...headers, ...unsigned } })).status).toBe(400)
  })

  it('allow everything else', async () => {
    await everything(storage, bucket, { owner })
  })
}
