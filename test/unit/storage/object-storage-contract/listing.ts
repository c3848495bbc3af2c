import { createAttemptId, type ObjectStorage } from '@svc/db'
import type { BytesPage, ListBytesInput } from '@svc/db/adapter'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { forEachConcurrently } from './bucket-service.js'

/** A storage with a bucket for each test. */
export interface ListedStorage {
  readonly storage: ObjectStorage
  /** Returns an empty bucket. */
  readonly freshBucket: () => Promise<string>
}

/** Keys that URLs, XML or a comparison of UTF-16 units would change or sort differently. */
const ODD_KEYS = [
  ...['a', 'A', 'a/b', 'a//b', '/', 'a b', 'a+b', 'a%20b', 'a%2Bb', '%', '%zz', 'a&amp;b', '<a>', '+', '~'],
  ...['\u0001', 'a\tb', 'a\nb', '\u007f', '\u00e9', 'e\u0301', '\ud7ff', '\ue000', '\ufffd', '\uffff'],
  ...['\u{10000}', 'b\ufffd', 'b\u{10000}', '\u{10ffff}', 'x'.repeat(1024), '\u{1f600}'.repeat(256)],
]

export const inByteOrder = (keys: readonly string[]): string[] =>
  [...keys].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))

export const keysOf = ({ items }: BytesPage): string[] => items.map(({ key }) => key)

async function fill({ storage, freshBucket }: ListedStorage, keys: readonly string[]): Promise<string> {
  const bucket = await freshBucket()
  await forEachConcurrently(keys, async (key) => {
    const body = new TextEncoder().encode(key)
    const attemptId = createAttemptId()
    expect(await storage.write!({ bucket, key, body, contentType: 'text/plain', attemptId })).toBe(true)
  })
  return bucket
}

/** Follows `next` to the end. */
async function allPages(storage: ObjectStorage, input: ListBytesInput): Promise<string[][]> {
  const pages: string[][] = []
  for (let after = input.after ?? null; ;) {
    const page = await storage.list!({ ...input, after })
    pages.push(keysOf(page))
    expect(page.next).toBe(page.next && keysOf(page).at(-1))
    if (page.next === null) return pages
    after = page.next
  }
}

/** Tests pages of a listing with this many queries. `open` is called in a hook or a test. */
export function testPagesOfListing(open: () => ListedStorage, numRuns: number): void {
  it('lists what starts with a prefix and comes after a key, neither of which need exist', async () => {
    const opened = open()
    const keys = ['a', 'a/', 'a/b', 'a/b/c', 'a/\ufffd', 'a/\u{10000}', 'ab', 'b', '\u{10000}', '\ufffd']
    const bucket = await fill(opened, keys)
    const text = fc.constantFrom(...keys, '!', 'a/a', 'a/bb', 'a/\u{10001}', 'aa', 'zz', '%', '\u{10ffff}')
    const query = fc.record({
      prefix: fc.option(text),
      after: fc.option(text),
      limit: fc.integer({ min: 1, max: 12 }),
    })
    await fc.assert(
      fc.asyncProperty(query, async ({ prefix, after, limit }) => {
        const isAfter = (key: string) =>
          after === null || Buffer.compare(Buffer.from(key), Buffer.from(after)) > 0
        const expected = inByteOrder(keys).filter((key) => key.startsWith(prefix ?? '') && isAfter(key))
        const pages = await allPages(opened.storage, { bucket, prefix, after, limit })
        expect(pages.flat()).toEqual(expected)
        // No page is empty unless nothing is listed, and none is short except the last.
        expect(pages.map((page) => page.length)).toEqual(
          Array.from({ length: Math.max(1, Math.ceil(expected.length / limit)) }, (_, index) =>
            Math.min(limit, expected.length - index * limit),
          ),
        )
      }),
      { numRuns },
    )
  })
}

/** Defines the tests of `list` that every storage passes. */
export function testListing(open: () => ListedStorage, numRuns: number): void {
  testPagesOfListing(open, numRuns)

  it('describes each object as head does', async () => {
    const opened = open()
    const before = Date.now() - 5000
    const bucket = await fill(opened, ['a', 'b/ü'])
    const { items, next } = await opened.storage.list!({ bucket, limit: 10 })
    expect(next).toBeNull()
    expect(keysOf({ items, next })).toEqual(['a', 'b/ü'])
    for (const { key, size, eTag, lastModified } of items) {
      expect(await opened.storage.head({ bucket, key })).toMatchObject({ size, eTag })
      expect(lastModified).toBeInstanceOf(Date)
      expect(lastModified.getTime()).toBeGreaterThan(before)
      expect(lastModified.getTime()).toBeLessThan(Date.now() + 5000)
    }
  })

  it('lists odd keys in byte order, from anywhere, in pages of any size', async () => {
    const opened = open()
    const bucket = await fill(opened, ODD_KEYS)
    const { storage } = opened
    const sorted = inByteOrder(ODD_KEYS)
    expect((await allPages(storage, { bucket, limit: 1000 })).flat()).toEqual(sorted)
    expect((await allPages(storage, { bucket, limit: 2 })).flat()).toEqual(sorted)
    await forEachConcurrently(sorted, async (after, index) => {
      expect(keysOf(await storage.list!({ bucket, after, limit: 3 }))).toEqual(
        sorted.slice(index + 1, index + 4),
      )
    })
  })

  it('returns an empty page for an empty bucket', async () => {
    const { storage, freshBucket } = open()
    const bucket = await freshBucket()
    expect(await storage.list!({ bucket, limit: 1000 })).toEqual({ items: [], next: null })
    expect(await storage.list!({ bucket, prefix: 'a', after: 'b', limit: 1 })).toEqual({
      items: [],
      next: null,
    })
  })

  it('lists only this bucket, and what is stored at the moment', async () => {
    const opened = open()
    const bucket = await fill(opened, ['a', 'b'])
    await fill(opened, ['c'])
    const { storage } = opened
    await storage.remove({ bucket, key: 'a' })
    expect(keysOf(await storage.list!({ bucket, limit: 10 }))).toEqual(['b'])
  })

  it('lists an upload in parts only once it is complete', async () => {
    const { storage, freshBucket } = open()
    const at = { bucket: await freshBucket(), key: 'parts' }
    const multipart = storage.multipart!
    const attemptId = createAttemptId()
    const { uploadId } = await multipart.create({ ...at, contentType: 'text/plain', attemptId })
    const upload = { ...at, uploadId }
    expect(await multipart.writePart!({ ...upload, partNumber: 1, body: new Uint8Array(7) })).not.toBeNull()
    expect(await storage.list!({ bucket: at.bucket, limit: 10 })).toEqual({ items: [], next: null })
    const { parts } = (await multipart.listParts({ ...upload, after: 0 }))!
    expect(await multipart.complete({ ...upload, parts })).toBe(true)
    const { items } = await storage.list!({ bucket: at.bucket, limit: 10 })
    expect(items).toMatchObject([{ key: 'parts', size: 7, eTag: (await storage.head(at))!.eTag }])
  })

  it('is cancelled by its signal', async () => {
    const opened = open()
    const bucket = await fill(opened, ['a'])
    const reason = new Error('stopped')
    await expect(opened.storage.list!({ bucket, limit: 1, signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    )
    const during = new AbortController()
    const listing = opened.storage.list!({ bucket, limit: 1, signal: during.signal })
    during.abort(reason)
    await expect(listing).rejects.toBe(reason)
  })
}
