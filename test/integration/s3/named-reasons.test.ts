import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import { s3Storage } from '@svc/db/s3'
import { beforeEach, describe, expect, it } from 'vitest'
import { begin, PART } from '../../unit/server/multipart/in-parts.js'
import { cleanUpItems, errorOf, outcomesOf } from '../../unit/server/service.js'
import { faultProxyTo } from './fault-proxy.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'
import { FILE, LATER, serviceOn } from './service-on-s3.js'

const ANN = 'user:ann'

describeS3('what s3Storage says of a service', (server) => {
  const direct = clientOf(server)
  const bucket = freshBucket(direct)
  const proxy = faultProxyTo(server.endpoint)
  beforeEach(() => proxy.faults('none'))
  const through = () => clientOf({ ...server, endpoint: proxy.endpoint }, { maxAttempts: 1 })
  const at = () => ({ bucket, key: 'missing' })

  it.each([
    ['an unknown access key', { accessKeyId: 'unknown' }, 'HTTP 403 InvalidAccessKeyId'],
    ['a wrong secret key', { secretAccessKey: 'wrong' }, 'HTTP 403 SignatureDoesNotMatch'],
  ])('names the reason of a refused HEAD: %s', async (_, wrong, reason) => {
    const credentials = { ...server.owner, ...wrong }
    const storage = s3Storage({ client: clientOf(server, { credentials }) })
    await expect(storage.head(at())).rejects.toThrow(
      `s3Storage: head failed in bucket "${bucket}": ${reason}`,
    )
  })

  const page = `<html><body><p>Sign in<br>${'.'.repeat(300)}</body></html>`
  it.each([
    [{ status: 403, headers: { 'content-type': 'text/html' }, body: page }, 'HTTP 403'],
    [{ status: 200, headers: { 'content-type': 'text/html' }, body: page }, 'HTTP 200'],
  ])('quotes a page that is not a response of S3: %#', async (response, status) => {
    proxy.faults(response)
    const listed = s3Storage({ client: through() }).list!({ bucket, limit: 1 })
    const quoted = JSON.stringify(page.slice(0, 200))
    await expect(listed).rejects.toThrow(`${status}, and not a response of S3: text/html, ${quoted}`)
  })

  it.each([
    [
      'responds to everything with 200',
      { status: 200, headers: { 'content-type': 'text/html', 'content-length': '9' } },
    ],
    [
      'drops the metadata of HEAD',
      { status: 200, headers: { 'content-type': 'text/plain', 'content-length': '3' } },
    ],
  ])('tells onError if an endpoint %s', async (_, response) => {
    const { as, reportedBy } = serviceOn(through(), bucket)
    const { object, upload } = await as(ANN).begun(FILE)
    expect((await as(ANN).put(upload, new Uint8Array(3))).status).toBe(200)
    proxy.faultsBy((request) => (request.startsWith('HEAD') ? response : 'none'))
    expect(await errorOf(await as(ANN).confirm(object))).toMatchObject({ code: 'UPLOAD_MISMATCH' })
    const [error] = await reportedBy('upload.confirm')
    expect(String(error)).toContain(`describes the bytes of upload ${object.id} without the id of an attempt`)
  })

  it.each([
    ['NoSuchKey', 404],
    ['MethodNotAllowed', 405],
    ['NotImplemented', 501],
  ])('names ListParts where it is missing (%s), and leaves nothing behind', async (code, status) => {
    proxy.faultsBy((request) =>
      /^GET .*[?&]upload(?:Id=|s)/.test(request)
        ? { status, body: `<?xml version="1.0"?><Error><Code>${code}</Code></Error>` }
        : 'none',
    )
    const { s3, as, clock, objects, reportedBy } = serviceOn(through(), bucket)
    const begun = await begin(as(ANN), { ...FILE, size: 2 * PART })
    expect(await errorOf(begun)).toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    const [error] = await reportedBy('multipart')
    expect(String((error as Error).cause)).toContain('the service does not support ListParts')
    expect((await direct.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads).toBeUndefined()
    expect(await objects.getScopeUsage(ANN)).toMatchObject({ reservedFiles: 0 })
    if (status === 404) return
    clock.advance(LATER)
    expect(outcomesOf((await cleanUpItems(s3)).leftovers)).not.toContain('failed')
  })
})

describe('s3Storage with a mock of the SDK', () => {
  const at = { bucket: 'files', key: 'a' }
  /** What aws-sdk-client-mock leaves out unless a test gives it. */
  function mocked(send: () => Promise<object>) {
    const client = new S3Client({ region: 'us-east-1' })
    client.send = send as typeof client.send
    return s3Storage({ client })
  }

  it('takes an error without $metadata by its name', async () => {
    const rejecting = (name: string) => mocked(() => Promise.reject(Object.assign(new Error(name), { name })))
    await expect(rejecting('NoSuchKey').read!(at)).resolves.toBeNull()
    await expect(
      rejecting('NoSuchUpload').multipart!.listParts({ ...at, uploadId: 'u', after: 0 }),
    ).resolves.toBeNull()
    let calls = 0
    const notFound = () => Promise.reject(Object.assign(new Error('no'), { name: 'NotFound' }))
    expect(await mocked(() => (calls++ === 0 ? notFound() : Promise.resolve({}))).head(at)).toBeNull()
  })

  it('takes a response without $metadata', async () => {
    const created = mocked(() => Promise.resolve({ UploadId: 'u' }))
    const input = { ...at, contentType: 'a/b', attemptId: 'a' }
    await expect(created.multipart!.create(input)).resolves.toEqual({ uploadId: 'u' })
  })
})
