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
import { clientOf, describeS3, freshBucket, type S3Server } from './s3-server.js'

interface Policy {
  readonly Version: string
  readonly Statement: readonly { readonly Action: readonly string[]; readonly Resource: string }[]
}

describeS3('the settings that docs/s3.md shows', (server) => {
  const owner = clientOf(server)

  describe.skipIf(server.guest === null)('for permissions (the tests need a second account)', () => {
    const bucket = freshBucket(owner)
    const guest = clientOf(server, { credentials: server.guest ?? server.owner })
    const storage = s3Storage({ client: guest })

    const allow = async (except?: string) => {
      const { Version, Statement } = documentedSettings<Policy>('Allow', bucket)
      const statements = Statement.map((statement) => ({
        ...statement,
        Action: statement.Action.filter((action) => action !== except),
        // What is attached to an account says nothing of it; a bucket's policy does.
        Principal: { AWS: [`arn:aws:iam:::user/${server.guest!.accessKeyId}`] },
      }))
      const Policy = JSON.stringify({ Version, Statement: statements })
      await owner.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy }))
    }

    it('are enough', async () => {
      await allow()
      await everything(storage, bucket, { owner })
    })

    // Ceph doesn't ask for s3:ListMultipartUploadParts where it is the account's own upload.
    it.each([
      's3:PutObject',
      's3:GetObject',
      's3:DeleteObject',
      's3:ListBucket',
      's3:AbortMultipartUpload',
      's3:ListBucketMultipartUploads',
    ])('need %s', async (action) => {
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

    it('let a page of the application upload, part by part too, and fetch', async () => {
      const upload = uploadTo(bucket)
      const signed = await storage.signUpload(upload)
      const preflight = await asked(signed.url, origin, 'PUT', Object.keys(signed.headers).sort())
      expect(preflight.status).toBe(200)
      expect(preflight.headers.get('access-control-allow-origin')).toBe(origin)
      expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT')
      const allowed = preflight.headers.get('access-control-allow-headers')!.toLowerCase()
      for (const name of Object.keys(signed.headers)) expect(allowed).toContain(name)

      const answer = await put({ url: signed.url, headers: { ...signed.headers, origin } })
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, origin])
      const { url } = await storage.signDownload(downloadFrom(bucket, upload.key))
      const download = await fetch(url, { headers: { origin } })
      expect(download.headers.get('access-control-allow-origin')).toBe(origin)

      const at = { bucket, key: createAttemptId() }
      const begun = await storage.multipart!.create({ ...at, contentType: 'a/b', attemptId: 'a' })
      const part = await storage.multipart!.signPart(partOf({ ...at, ...begun }))
      // A browser names the type of a file by itself.
      expect((await asked(part.url, origin, 'PUT', ['content-type'])).status).toBe(200)
    })

    it('let no other page', async () => {
      const { url, headers } = await storage.signUpload(uploadTo(bucket))
      const preflight = await asked(url, 'https://other.example', 'PUT', Object.keys(headers).sort())
      expect(preflight.headers.get('access-control-allow-origin')).toBeNull()
    })
  })

  describe('for the lifecycle', () => {
    const bucket = freshBucket(owner)

    it('are taken by the service', async () => {
      const LifecycleConfiguration = documentedSettings<BucketLifecycleConfiguration>('Rules', bucket)
      const at = { Bucket: bucket }
      await owner.send(new PutBucketLifecycleConfigurationCommand({ ...at, LifecycleConfiguration }))
      const { Rules } = await owner.send(new GetBucketLifecycleConfigurationCommand(at))
      expect(Rules).toMatchObject([{ AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 } }])
    })
  })

  describe('against headers that nobody signed', () => {
    describeUnsignedHeaders(server)
  })
})

/** Everything that the server and the browsers do. Throws where any of it is refused. */
async function everything(
  storage: ObjectStorage,
  bucket: string,
  { owner }: { owner: ReturnType<typeof clientOf> },
): Promise<void> {
  const upload = uploadTo(bucket)
  expect(await storage.head(upload)).toBeNull()
  expect((await put(await storage.signUpload(upload))).status).toBe(200)
  expect(await storage.head(upload)).toMatchObject({ size: HELLO.byteLength })
  // Whoever wrote an object may read it; what another account wrote needs the permission.
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

/** Ceph takes them; Amazon S3 refuses them by itself. */
function describeUnsignedHeaders(server: S3Server): void {
  const owner = clientOf(server)
  const bucket = freshBucket(owner)
  const storage = s3Storage({ client: owner })
  beforeAll(async () => {
    await owner.send(new PutObjectCommand({ Bucket: bucket, Key: 'of somebody else', Body: 'hello' }))
    const Policy = JSON.stringify(documentedSettings('Deny', bucket))
    await owner.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy }))
  })
  afterAll(async () => {
    await owner.send(new DeleteBucketPolicyCommand({ Bucket: bucket }))
  })

  it.each([
    ['a copy of another object', { 'x-amz-copy-source': 'of%20somebody%20else' }],
    ['a copy as if uploaded', { 'x-amz-metadata-directive': 'REPLACE' }],
    ['a file that all may read', { 'x-amz-acl': 'public-read' }],
    ['a file that all may write', { 'x-amz-acl': 'public-read-write' }],
    ['a file that all accounts may read', { 'x-amz-acl': 'authenticated-read' }],
  ])('let nobody make %s', async (_, unsigned) => {
    const upload = uploadTo(bucket)
    const { url, headers } = await storage.signUpload(upload)
    const isCopy = !('x-amz-acl' in unsigned)
    const source = { 'x-amz-copy-source': `/${bucket}/of%20somebody%20else` }
    const answer = await put({ url, headers: { ...headers, ...unsigned, ...(isCopy && source) } })
    expect(answer.status).toBe(403)
    expect(await storage.head(upload)).toBeNull()
  })

  it('let everything else be as it is', async () => {
    await everything(storage, bucket, { owner })
  })
}
