import { s3Storage } from '@svc/db/s3'
import { S3Client } from '@aws-sdk/client-s3'
import { beforeEach, expect, it } from 'vitest'
import { faultProxyTo } from './fault-proxy.js'
import { describeS3 } from './s3-server.js'

const ok = (body: string, headers: Record<string, string> = {}) => ({ status: 200, body, headers })
const at = { bucket: 'files', key: 'a b' }
const upload = { ...at, uploadId: 'u' }

/** Responses that other services or proxies may return. */
describeS3('s3Storage with unusual responses', (server) => {
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

  it('takes the size from a listing if a response has no Content-Length', async () => {
    const described = ok('', { 'transfer-encoding': 'chunked', 'content-type': 'a/b', etag: '"e"' })
    proxy.faults(described, listing(contents('a+b', '<Size>7</Size>')))
    const stored = { size: 7, contentType: 'a/b', eTag: '"e"', attemptId: null }
    expect(await storage.head(at)).toEqual(stored)
    proxy.faults(described, listing())
    await expect(storage.head(at)).rejects.toThrow('the response has no Content-Length')
  })

  it('describes a Content-Encoding that readers have to undo', async () => {
    for (const encoding of ['gzip', 'aws-chunked,br', 'x']) {
      proxy.faults(ok('', { 'content-length': '7', 'content-encoding': encoding }))
      expect(await storage.head(at)).toMatchObject({ contentEncoding: encoding })
    }
    for (const encoding of ['', 'identity', 'AWS-chunked', 'aws-chunked, identity']) {
      proxy.faults(ok('', { 'content-length': '7', 'content-encoding': encoding }))
      expect((await storage.head(at))!.contentEncoding).toBeUndefined()
    }
  })

  it('describes an object without type, ETag, and metadata', async () => {
    proxy.faults(ok('', { 'content-length': '7' }))
    const stored = { size: 7, contentType: null, eTag: null, attemptId: null }
    expect(await storage.head(at)).toEqual(stored)
  })

  it('describes a customer-encrypted object by its size only', async () => {
    const code = '<Error><Code>InvalidRequest</Code>'
    // The message of Amazon S3.
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
  ])('rejects a bad request whose reason is %s', async (_, second) => {
    proxy.faults({ status: 400 }, second, ok('<ListBucketResult></ListBucketResult>'))
    await expect(storage.head(at)).rejects.toThrow('head failed in bucket "files": HTTP 400')
    expect(proxy.requests).toHaveLength(2)
  })

  it('rejects a listing of uploads that ignores its marker', async () => {
    const next = '<NextKeyMarker>a</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>'
    proxy.faults(
      ok(`<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>${next}</ListMultipartUploadsResult>`),
    )
    await expect(storage.multipart!.list(at)).rejects.toThrow('the response lacks fields that S3 guarantees')
    expect(proxy.requests).toHaveLength(2)
  })

  it('rejects an upload without an id', async () => {
    proxy.faults(ok('<InitiateMultipartUploadResult></InitiateMultipartUploadResult>'))
    const input = { ...at, contentType: 'a/b', attemptId: 'a' }
    await expect(storage.multipart!.create(input)).rejects.toThrow('the response lacks the UploadId')
  })

  it('rejects a part without an ETag, and says so', async () => {
    proxy.faults(ok(''))
    const part = { ...upload, partNumber: 1, body: new Uint8Array(5) }
    await expect(storage.multipart!.writePart!(part)).rejects.toThrow(
      's3Storage: multipart.writePart failed in bucket "files": Error: the response lacks the ETag of the part',
    )
  })

  it.each([
    '<Part><PartNumber>1</PartNumber><Size>5</Size></Part>',
    '<Part><PartNumber>1</PartNumber><ETag>"e"</ETag></Part>',
    '<Part><Size>5</Size><ETag>"e"</ETag></Part>',
    '<IsTruncated>true</IsTruncated>',
  ])('rejects incomplete parts: %s', async (content) => {
    proxy.faults(ok(`<ListPartsResult>${content}</ListPartsResult>`))
    const listed = storage.multipart!.listParts({ ...upload, after: 0 })
    await expect(listed).rejects.toThrow('the response lacks fields that S3 guarantees')
  })

  it('rejects a page of parts that repeats', async () => {
    const page = '<Part><PartNumber>1</PartNumber><Size>5</Size><ETag>"e"</ETag></Part>'
    proxy.faults(ok(`<ListPartsResult><IsTruncated>true</IsTruncated>${page}</ListPartsResult>`))
    expect(await storage.multipart!.listParts({ ...upload, after: 0 })).toMatchObject({ next: 1 })
    const again = storage.multipart!.listParts({ ...upload, after: 1 })
    await expect(again).rejects.toThrow('the response lacks fields that S3 guarantees')
  })

  it.each([
    ['a b', ''],
    ['a+b', '<EncodingType>url</EncodingType>'],
    ['a%20b', '<EncodingType>url</EncodingType>'],
    ['a%20b', ''],
  ])('finds uploads by key in every encoding: %s', async (written, encoding) => {
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

  const date = '<LastModified>2026-01-02T03:04:05.678Z</LastModified>'
  const contents = (key: string, more = '<Size>5</Size><ETag>"e"</ETag>') =>
    `<Contents><Key>${key}</Key>${date}${more}</Contents>`
  const listing = (...content: string[]) => ok(`<ListBucketResult>${content.join('')}</ListBucketResult>`)
  const TRUNCATED = '<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>'
  const ENCODED = '<EncodingType>url</EncodingType>'

  it('fills a page of a listing from short and empty ones', async () => {
    proxy.faults(
      listing(TRUNCATED.replace('>t<', '>s<'), contents('a')),
      listing(TRUNCATED),
      listing(ENCODED, '<IsTruncated>true</IsTruncated>', contents('a%20b%2B', '<Size>0</Size>')),
    )
    const { items, next } = await storage.list!({ bucket: 'files', after: 'A', prefix: 'a', limit: 2 })
    const lastModified = new Date('2026-01-02T03:04:05.678Z')
    expect(items).toEqual([
      { key: 'a', size: 5, eTag: '"e"', lastModified },
      { key: 'a b+', size: 0, eTag: null, lastModified },
    ])
    expect(next).toBe('a b+')
    const asked = proxy.requests.map((request) => {
      const query = new URL(request.split(' ')[1]!, proxy.endpoint).searchParams
      return ['max-keys', 'continuation-token', 'start-after', 'prefix'].map((name) => query.get(name))
    })
    expect(asked).toEqual([
      ['2', null, 'A', 'a'],
      ['1', 's', 'A', 'a'],
      ['1', 't', 'A', 'a'],
    ])
  })

  it.each([
    ['a space', [200], 'a b'],
    ['a plus that the service does not encode', [404, 200], 'a+b'],
  ])('asks once whether + in the keys of a bucket is %s', async (_, heads, key) => {
    const statuses = [...heads]
    proxy.faultsBy((request) => {
      if (request.startsWith('HEAD')) return { status: statuses.shift()!, headers: { 'content-length': '5' } }
      return listing(ENCODED, request.includes('prefix=') ? '' : contents('a+b'))
    })
    for (let run = 0; run < 2; run++) {
      expect((await storage.list!({ bucket: 'files', limit: 2 })).items).toMatchObject([{ key }])
    }
    expect(statuses).toEqual([])
    expect(proxy.requests.filter((request) => request.startsWith('HEAD'))).toHaveLength(heads.length)
  })

  it('lists the storage class where the service tells it', async () => {
    const described = '<Size>5</Size><StorageClass>GLACIER</StorageClass>'
    proxy.faults(listing(contents('a', described), contents('b')))
    const { items } = await storage.list!({ bucket: 'files', limit: 2 })
    expect(items.map(({ storageClass }) => storageClass)).toEqual(['GLACIER', undefined])
  })

  it('ends a listing whose truncation is not reported', async () => {
    proxy.faults(listing(contents('a%20b')))
    expect(await storage.list!({ bucket: 'files', limit: 1 })).toMatchObject({
      items: [{ key: 'a%20b' }],
      next: null,
    })
  })

  it.each([
    [listing('<Contents><Key>a</Key><Size>5</Size></Contents>')],
    [listing(contents('a', ''))],
    [listing(`<Contents>${date}<Size>5</Size></Contents>`)],
    [listing('<IsTruncated>true</IsTruncated>')],
  ])('rejects an incomplete listing: %j', async (response) => {
    proxy.faults(response)
    await expect(storage.list!({ bucket: 'files', limit: 1 })).rejects.toThrow(
      's3Storage: list failed in bucket "files": Error: the response lacks fields that S3 guarantees',
    )
  })

  it('rejects a listing that repeats', async () => {
    proxy.faults(listing(TRUNCATED), listing(TRUNCATED))
    await expect(storage.list!({ bucket: 'files', limit: 1 })).rejects.toThrow('lacks fields')
  })

  it('rejects a completion whose response has status 200 and an error body', async () => {
    proxy.faults(ok('<Error><Code>InternalError</Code></Error>'), ok('<ListPartsResult></ListPartsResult>'))
    const parts = [{ partNumber: 1, eTag: '"e"' }]
    await expect(storage.multipart!.complete({ ...upload, parts })).rejects.toThrow('InternalError')
  })
})
