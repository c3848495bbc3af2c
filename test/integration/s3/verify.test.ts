import {
  CreateBucketCommand,
  DeleteBucketCommand,
  ListMultipartUploadsCommand,
  PutBucketCorsCommand,
  PutObjectLockConfigurationCommand,
  type CORSConfiguration,
  type S3ClientConfig,
} from '@aws-sdk/client-s3'
import { s3Storage } from '@svc/db/s3'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MINUTE } from '../../conformance/clock.js'
import { documentedSettings } from './documented-settings.js'
import { faultProxyTo, type Fault } from './fault-proxy.js'
import { findingsOf, only } from './findings.js'
import { grant } from './permissions.js'
import { clientOf, describeS3, freshBucket, freshName, keysIn } from './s3-server.js'

const ORIGIN = 'https://app.example'

describeS3('s3.verify', (server) => {
  const owner = clientOf(server)
  const bucket = freshBucket(owner)
  const proxy = faultProxyTo(server.endpoint)
  const through = (config: S3ClientConfig = {}) =>
    clientOf({ ...server, endpoint: proxy.endpoint }, { maxAttempts: 1, ...config })

  const allowPages = (rule: object = {}) => {
    const { CORSRules } = documentedSettings<CORSConfiguration>('CORSRules', bucket)
    const CORSConfiguration = { CORSRules: [{ ...CORSRules![0]!, ...rule }] }
    return owner.send(new PutBucketCorsCommand({ Bucket: bucket, CORSConfiguration }))
  }
  beforeAll(async () => void (await allowPages()))
  beforeEach(() => proxy.faults('none'))

  const left = async () => {
    const { Uploads = [] } = await owner.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
    return [...(await keysIn(owner, bucket)), ...Uploads.map(({ Key }) => Key)]
  }

  it('finds nothing in a healthy service, and leaves nothing behind', async () => {
    expect(await findingsOf(owner, bucket)).toEqual([])
    expect(await findingsOf(owner, bucket, { origin: ORIGIN })).toEqual([])
    expect(await left()).toEqual([])
  })

  it.each([
    ['a bucket that does not exist', {}, freshName(), only('bucket', /does not exist: create it.*HTTP 404/)],
    [
      'a wrong secret',
      { credentials: { ...server.owner, secretAccessKey: 'wrong' } },
      bucket,
      only('permissions', /refuses the credentials.*SignatureDoesNotMatch/),
    ],
    [
      'an endpoint where nothing listens',
      { endpoint: 'http://127.0.0.1:1' },
      bucket,
      only('bucket', /can't be reached: check the endpoint.*ECONNREFUSED/),
    ],
  ])('names %s', async (_, config, name, expected) => {
    expect(await findingsOf(clientOf(server, { maxAttempts: 1, ...config }), name)).toEqual(expected)
  })

  it.each([
    ['ahead of', 2 * MINUTE],
    ['behind', -2 * MINUTE],
  ])('names a clock that is two minutes %s', async (direction, offset) => {
    const now = () => new Date(Date.now() + offset)
    expect(await findingsOf(owner, bucket, { now })).toEqual(
      only('clock', new RegExp(`s ${direction}.*correct it`)),
    )
  })

  /** What a service does in place of the real one. */
  type Behaviour = (request: string, headers: Readonly<Record<string, unknown>>) => Fault
  const refusal = (status: number, code: string, message = '') => ({
    status,
    body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
  })
  const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<html><p>Sign in<br></html>' }
  const isUpload = (request: string) =>
    /^PUT .*X-Amz-Signature/.test(request) && !request.includes('partNumber')

  it.each<[string, Behaviour, unknown]>([
    ["a console's port", () => page, only('bucket', /not that of a console.*Sign in/)],
    [
      'an endpoint that responds to everything with 200',
      () => ({ status: 200 }),
      only('bucket', /not that of a console/),
    ],
    [
      'a service without conditional writes',
      (_, headers) => ('if-none-match' in headers ? refusal(501, 'NotImplemented') : 'none'),
      only('conditional-writes', /refuses conditional writes.*set createOnly of s3Storage to false/),
    ],
    [
      'a service that ignores them',
      (request, headers) =>
        isUpload(request) || 'if-none-match' in headers ? { instead: { status: 200 } } : 'none',
      only('conditional-writes', /ignores If-None-Match/),
    ],
    [
      'a service without ListParts',
      (request) => (/^GET .*[?&]uploadId=/.test(request) ? refusal(501, 'NotImplemented') : 'none'),
      only('bucket', /does not support ListParts/),
    ],
    [
      'a service with 1,000 parts',
      (request) =>
        Number(/[?&]partNumber=(\d+)/.exec(request)?.[1]) > 1000 ? refusal(400, 'InvalidArgument') : 'none',
      only('bucket', /refuses part 10000.*set maxParts/),
    ],
    [
      'a service that shortens names',
      (request) => (/^PUT .*-{20}/.test(request) ? refusal(400, 'KeyTooLongError') : 'none'),
      only('bucket', /refuses names of 255 bytes/),
    ],
    [
      'a default retention that only an upload reveals',
      (request) =>
        isUpload(request)
          ? refusal(400, 'InvalidRequest', 'Content-MD5 is required with Object Lock')
          : 'none',
      only('bucket', /default retention.*use a bucket without one/),
    ],
    [
      'a redirect to another region, which only the server would follow',
      (request) => (isUpload(request) ? refusal(307, 'TemporaryRedirect') : 'none'),
      only('bucket', /in another region/),
    ],
  ])('names %s', async (_, behaviour, expected) => {
    proxy.faultsBy(behaviour)
    expect(await findingsOf(through(), bucket)).toEqual(expected)
    expect(await left()).toEqual([])
  })

  it('names a service that ignores ranges', async () => {
    const whole = { status: 200, body: 'w'.repeat(29) }
    proxy.faultsBy((_, headers) => ('range' in headers ? { instead: whole } : 'none'))
    expect(await findingsOf(through(), bucket)).toEqual(only('bucket', /ranges of files/))
  })

  it('names a proxy that removes metadata', async () => {
    const described = { status: 200, headers: { 'content-type': 'text/plain', 'content-length': '29' } }
    let heads = 0
    // The first one looks for a missing key.
    proxy.faultsBy((request) => (request.startsWith('HEAD') && heads++ > 0 ? { instead: described } : 'none'))
    expect(await findingsOf(through(), bucket)).toEqual(only('bucket', /x-amz-meta-attempt-id/))
  })

  it('names an unreachable public address only by what it can reach itself', async () => {
    const publicClient = clientOf({ ...server, endpoint: 'http://127.0.0.1:1' })
    expect(await findingsOf(owner, bucket, { publicClient })).toEqual([])
    const wrong = clientOf(server, { credentials: { ...server.owner, secretAccessKey: 'wrong' } })
    expect(await findingsOf(owner, bucket, { publicClient: wrong })).toEqual(
      only('bucket', /refuses signed URLs/),
    )
    expect(await left()).toEqual([])
  })

  it('names a default retention, and writes nothing to the bucket', async () => {
    const locked = freshName()
    await owner.send(new CreateBucketCommand({ Bucket: locked, ObjectLockEnabledForBucket: true }))
    try {
      await owner.send(
        new PutObjectLockConfigurationCommand({
          Bucket: locked,
          ObjectLockConfiguration: {
            ObjectLockEnabled: 'Enabled',
            Rule: { DefaultRetention: { Mode: 'GOVERNANCE', Days: 1 } },
          },
        }),
      )
      const findings = await findingsOf(owner, locked)
      expect(findings).toContainEqual(only('bucket', /default retention/)[0])
      expect(await keysIn(owner, locked)).toEqual([])
    } finally {
      await owner.send(new DeleteBucketCommand({ Bucket: locked }))
    }
  })

  describe('of CORS', () => {
    afterAll(async () => void (await allowPages()))

    it('names missing rules', async () => {
      const empty = freshName()
      await owner.send(new CreateBucketCommand({ Bucket: empty }))
      try {
        expect(await findingsOf(owner, empty)).toEqual(only('cors', /has no CORS rules/))
        expect(await findingsOf(owner, empty, { origin: ORIGIN })).toEqual(
          only('cors', new RegExp(`does not let pages of ${ORIGIN} upload`)),
        )
      } finally {
        await owner.send(new DeleteBucketCommand({ Bucket: empty }))
      }
    })

    it('names headers that the client sends, and the rules do not allow', async () => {
      await allowPages({ AllowedHeaders: ['content-type', 'X-Amz-Meta-*'] })
      expect(await findingsOf(owner, bucket)).toEqual(only('cors', /add if-none-match to AllowedHeaders/))
      expect(await findingsOf(owner, bucket, { origin: ORIGIN })).toEqual(
        only('cors', /add this origin, PUT, and the headers .*if-none-match.* to the CORS rules/),
      )
      await allowPages({ AllowedHeaders: ['*'] })
      expect(await findingsOf(owner, bucket)).toEqual([])
    })

    it('names a missing method, and another origin', async () => {
      await allowPages({ AllowedMethods: ['GET'] })
      expect(await findingsOf(owner, bucket)).toEqual(only('cors', /add PUT to AllowedMethods/))
      await allowPages()
      const origin = 'https://other.example'
      expect(await findingsOf(owner, bucket, { origin })).toEqual(
        only('cors', new RegExp(`does not let pages of ${origin} upload`)),
      )
    })

    it('needs no rules where browsers upload nothing', async () => {
      await allowPages({ AllowedMethods: ['GET'] })
      expect(await findingsOf(owner, bucket, { server: { upload: false, multipart: false } })).toEqual([])
    })
  })

  describe.skipIf(server.guest === null)('with its own permissions (the tests need a second account)', () => {
    const guest = clientOf(server, { credentials: server.guest ?? server.owner })

    it('finds nothing if they are those of the docs', async () => {
      await grant({ owner, bucket, account: server.guest! })
      expect(await findingsOf(guest, bucket)).toEqual([])
    })

    // Ceph does not require s3:ListMultipartUploadParts for the account's own uploads.
    it.each([
      's3:PutObject',
      's3:DeleteObject',
      's3:ListBucket',
      's3:AbortMultipartUpload',
      's3:ListBucketMultipartUploads',
    ])('names %s if it is missing, alone', async (action) => {
      await grant({ owner, bucket, account: server.guest! }, { except: action })
      expect(await findingsOf(guest, bucket)).toEqual(
        only('permissions', new RegExp(`needs ${action} for .*HTTP 403`)),
      )
      expect(await left()).toEqual([])
    })

    it('names s3:GetObject if it is denied: on Ceph, an account may read what it has written', async () => {
      await grant({ owner, bucket, account: server.guest! }, { denied: 's3:GetObject' })
      expect(await findingsOf(guest, bucket)).toEqual(
        only('permissions', /needs s3:GetObject for .*HTTP 403/),
      )
      expect(await left()).toEqual([])
    })

    it('names s3:ListMultipartUploadParts where the service requires it', async () => {
      proxy.faultsBy((request) =>
        /^GET .*[?&]uploadId=/.test(request) ? refusal(403, 'AccessDenied') : 'none',
      )
      expect(await findingsOf(through(), bucket)).toEqual(only('permissions', /s3:ListMultipartUploadParts/))
    })
  })

  it('removes what it has written if it is aborted half-way', async () => {
    const storage = s3Storage({ client: through() })
    // Each time before another request.
    for (const stop of [4, 8, 12, 16, 20]) {
      const controller = new AbortController()
      let requests = 0
      proxy.faultsBy(() => {
        if (++requests === stop) controller.abort(new Error('stop'))
        return 'none'
      })
      await expect(storage.verify!({ bucket, signal: controller.signal })).rejects.toThrow('stop')
      expect(await left()).toEqual([])
    }
  })
})
