import { s3Storage } from '@svc/db/s3'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { forEachConcurrently } from '../../unit/storage/object-storage-contract/bucket-service.js'
import { downloadFrom, get, partOf, put, uploadTo } from './browser-requests.js'
import { clientOf, describeS3, freshBucket, keysIn, type S3Server } from './s3-server.js'
import { anyText } from '../../unit/storage/object-storage-contract/any-text.js'

/** Distinct keys that URLs, XML, or signatures may normalize or confuse. */
const KEYS = [
  ...['a', 'A', 'a/b', 'a//b', '/a', '//a', 'a/', 'a//', '/', '//', '~a', '...', 'a/...', '.a'],
  ...[' ', ' a', 'a ', 'a b', 'a+b', '+', 'a%20b', 'a%2Bb', '%', '%%', '%2e%2e', '%zz', '%00'],
  ...['a?b', '?', 'a#b', '#', 'a&b', 'a=b', 'a;b', 'a:b', 'a@b', 'a,b', 'a$b', 'a!b', 'a*b', "a'b", 'a(b)'],
  ...['a"b', 'a<b>', 'a&amp;b', 'a\\b', '\\', 'a|b', 'a^b', 'a`b', 'a{b}', 'a[b]', ']]>', '<!--'],
  ...['\u0001', 'a\tb', 'a\nb', 'a\r\nb', '\u007f', '\u0080', '\u00a0', '\u2028', '\ufeff', '\uffff'],
  ...['\u00e9', 'e\u0301', 'ß', 'İ', 'ä b+c%#?&=/ü.pdf', '日本語', 'עברית', '\u{1f468}\u200d\u{1f469}'],
  ...['uploads', 'acl', '?uploads', '?acl', 'versionId=1', '__proto__', 'constructor'],
  ...Array.from({ length: 17 }, (_, plane) => String.fromCodePoint(plane * 0x10000 + 0xfffd)),
  ...['x'.repeat(1024), '\u{1f600}'.repeat(256), `${'é'.repeat(511)}xy`, ' '.repeat(1024), '%'.repeat(1024)],
]

/** Tests every n-th of these keys, and this many arbitrary ones. */
export function describeKeys(step: number, numRuns: number): void {
  describeS3('the keys of s3Storage', (server) => testKeys(server, step, numRuns))
}

function testKeys(server: S3Server, step: number, numRuns: number): void {
  const all = [...new Set(KEYS)]
  const client = clientOf(server)
  const bucket = freshBucket(client)
  const storage = s3Storage({ client })

  it('are all accepted and kept separate', async () => {
    const keys = all.filter((_, index) => index % step === 0)
    const contentOf = (at: number) => `${at}`.padStart(5, '0')
    await forEachConcurrently(keys, async (key, at) => {
      const stored = await put(await storage.signUpload(uploadTo(bucket, key)), contentOf(at))
      expect([stored.status, key]).toEqual([200, key])
    })
    expect((await keysIn(client, bucket)).sort()).toEqual([...keys].sort())
    await forEachConcurrently(keys, async (key, at) => {
      const { url } = await storage.signDownload(downloadFrom(bucket, key))
      expect([(await get(url)).body, key]).toEqual([contentOf(at), key])
    })
    await forEachConcurrently(keys, async (key, at) => {
      if (at % 2 === 0) await storage.remove({ bucket, key })
    })
    await forEachConcurrently(keys, async (key, at) => {
      expect([(await storage.head({ bucket, key })) === null, key]).toEqual([at % 2 === 0, key])
    })
  })

  it('are accepted and kept separate by multipart uploads', async () => {
    const multipart = storage.multipart!
    const keys = all.filter((_, index) => index % (2 * step) === 0)
    const begin = (key: string) =>
      multipart.create({ bucket, key, contentType: 'text/plain', attemptId: 'a' })
    const ids = new Map<string, string>()
    await forEachConcurrently(keys, async (key) => void ids.set(key, (await begin(key)).uploadId))
    await forEachConcurrently(keys, async (key) => {
      const uploadId = ids.get(key)!
      expect([await multipart.list({ bucket, key }), key]).toEqual([[uploadId], key])
      const response = await put(await multipart.signPart(partOf({ bucket, key, uploadId })))
      expect([response.status, key]).toEqual([200, key])
      expect(await multipart.listParts({ bucket, key, uploadId, after: 0 })).toMatchObject({
        parts: [{ partNumber: 1, size: 5 }],
      })
      await multipart.abort({ bucket, key, uploadId })
      expect([await multipart.list({ bucket, key }), key]).toEqual([[], key])
    })
  })

  it('can be any strings that a record can contain and a URL preserves', async () => {
    const key = anyText(255).filter(
      (text) => !text.includes('\0') && !text.split('/').some((part) => /^\.\.?$/.test(part)),
    )
    await fc.assert(
      fc.asyncProperty(key, async (text) => {
        const upload = uploadTo(bucket, `any/${text}`)
        expect((await put(await storage.signUpload(upload))).status).toBe(200)
        expect(await storage.head(upload)).toMatchObject({ attemptId: upload.attemptId })
        await storage.remove(upload)
        expect(await storage.head(upload)).toBeNull()
      }),
      { numRuns },
    )
  })
}
