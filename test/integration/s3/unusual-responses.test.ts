import { s3Storage } from '@svc/db/s3'
import { S3Client } from '@aws-sdk/client-s3'
import { beforeEach, expect, it } from 'vitest'
import { faultProxyTo } from './fault-proxy.js'
import { describeS3 } from './s3-server.js'

const ok = (body: string, headers: Record<string, string> = {}) => ({ status: 200, body, headers })
const at = { bucket: 'files', key: 'a b' }
const upload = { ...at, uploadId: 'u' }

/** What other services answer, or something between, in place of the real one. */
describeS3('s3Storage, which is answered in an odd way,', (server) => {
  const proxy = faultProxyTo(server.endpoint)
  let storage: ReturnType<typeof s3Storage>
  beforeEach(() => {
    const client = new S3Client({
      ...{ endpoint: proxy.endpoint, credentials: server.owner, region: 'us-east-1' },
      ...{ forcePathStyle: true, maxAttempts: 1 },
    })
    storage = s3Storage({ client })
    return () => client.destroy()
  })

  it('takes no size for granted', async () => {
    proxy.faults(ok('', { 'transfer-encoding': 'chunked' }))
    await expect(storage.head(at)).rejects.toThrow('the answer has no Content-Length')
  })

  it('knows bytes of which nothing more is said', async () => {
    proxy.faults(ok('', { 'content-length': '7' }))
    const stored = { size: 7, contentType: null, eTag: null, attemptId: null }
    expect(await storage.head(at)).toEqual(stored)
  })

  it('takes a file that it may not see for bytes of nobody, and knows their size', async () => {
    const code = '<Error><Code>InvalidRequest</Code>'
    // The words of Amazon S3.
    const reason = `${code}<Message>The object was stored using a form of Server Side Encryption.</Message></Error>`
    const listing = '<ListBucketResult><Contents><Key>a+b</Key><Size>7</Size></Contents></ListBucketResult>'
    proxy.faults({ status: 400 }, { status: 400, body: reason }, ok(listing))
    const stored = { size: 7, contentType: null, eTag: null, attemptId: null }
    expect(await storage.head(at)).toEqual(stored)
  })

  it.each([
    [
      'another refusal',
      { status: 400, body: '<Error><Code>ExpiredToken</Code><Message>x</Message></Error>' },
    ],
    ['none', ok('h')],
    ['a failure', { status: 500, body: '<Error><Code>InternalError</Code></Error>' }],
  ])('makes nothing of a bad request whose reason is %s', async (_, second) => {
    proxy.faults({ status: 400 }, second, ok('<ListBucketResult></ListBucketResult>'))
    await expect(storage.head(at)).rejects.toThrow('head in the bucket "files" failed: HTTP 400')
    expect(proxy.requests).toHaveLength(2)
  })

  it('begins no upload without an id', async () => {
    proxy.faults(ok('<InitiateMultipartUploadResult></InitiateMultipartUploadResult>'))
    const input = { ...at, contentType: 'a/b', attemptId: 'a' }
    await expect(storage.multipart!.create(input)).rejects.toThrow('the answer lacks what S3 promises')
  })

  it.each([
    '<Part><PartNumber>1</PartNumber><Size>5</Size></Part>',
    '<Part><PartNumber>1</PartNumber><ETag>"e"</ETag></Part>',
    '<Part><Size>5</Size><ETag>"e"</ETag></Part>',
    '<IsTruncated>true</IsTruncated>',
  ])('lists no parts by half: %s', async (content) => {
    proxy.faults(ok(`<ListPartsResult>${content}</ListPartsResult>`))
    const listed = storage.multipart!.listParts({ ...upload, after: 0 })
    await expect(listed).rejects.toThrow('the answer lacks what S3 promises')
  })

  it('asks no second time for a page of parts that a service gives again and again', async () => {
    const page = '<Part><PartNumber>1</PartNumber><Size>5</Size><ETag>"e"</ETag></Part>'
    proxy.faults(ok(`<ListPartsResult><IsTruncated>true</IsTruncated>${page}</ListPartsResult>`))
    expect(await storage.multipart!.listParts({ ...upload, after: 0 })).toMatchObject({ next: 1 })
    const again = storage.multipart!.listParts({ ...upload, after: 1 })
    await expect(again).rejects.toThrow('the answer lacks what S3 promises')
  })

  it.each([
    ['a b', ''],
    ['a+b', '<EncodingType>url</EncodingType>'],
    ['a%20b', '<EncodingType>url</EncodingType>'],
    ['a%20b', ''],
  ])('finds uploads under their key however it is written: %s', async (written, encoding) => {
    const pageOf = (more: boolean, ...keys: string[]) => {
      const uploads = keys.map(
        (key, n) => `<Upload><Key>${key}</Key><UploadId>${more}${n}</UploadId></Upload>`,
      )
      const next = `<NextKeyMarker>${written}</NextKeyMarker><NextUploadIdMarker>m</NextUploadIdMarker>`
      const truncated = `<IsTruncated>${more}</IsTruncated>${more ? next : ''}`
      const content = encoding + truncated + uploads.join('')
      return ok(`<ListMultipartUploadsResult>${content}</ListMultipartUploadsResult>`)
    }
    proxy.faults(pageOf(true, written, `${written}%`), pageOf(false, `${written}c`, written))
    expect(await storage.multipart!.list(at)).toEqual(['true0', 'false1'])
    const marker = new URL(proxy.requests[1]!.split(' ')[1]!, proxy.endpoint).searchParams
    expect(marker.get('upload-id-marker')).toBe('m')
    expect(marker.get('key-marker')).toBe(encoding === '' ? written : 'a b')
  })

  it('makes no object where the answer begins well and tells of a failure', async () => {
    proxy.faults(ok('<Error><Code>InternalError</Code></Error>'), ok('<ListPartsResult></ListPartsResult>'))
    const parts = [{ partNumber: 1, eTag: '"e"' }]
    await expect(storage.multipart!.complete({ ...upload, parts })).rejects.toThrow('InternalError')
  })
})
