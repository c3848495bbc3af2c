import { describe, expect, it } from 'vitest'
import { bucketService } from './bucket-service.js'
import { storages } from './storages.js'

describe.each(storages)('a request for a range of bytes of $name', (kind) => {
  async function serviceWith(size: number) {
    const service = bucketService(kind)
    const { upload, download, put, get } = service
    const bytes = Uint8Array.from({ length: size }, (_, index) => index + 1)
    await put({ ...upload, size }, bytes)
    const cached = { ...download, cacheControl: 'private, immutable, max-age=60' }
    return {
      ...service,
      bytes,
      ask: (headers: Record<string, string>, method = 'GET') => get(cached, method, headers),
    }
  }

  type Part = readonly [status: number, range: string | null, bytes: readonly number[]]

  async function partOf(response: Response): Promise<Part> {
    const { status, headers } = response
    const bytes = [...new Uint8Array(await response.arrayBuffer())]
    expect(headers.get('content-length')).toBe(String(bytes.length))
    return [status, headers.get('content-range'), bytes]
  }

  it.each([0, 1, 5])('gets what slicing gets, for each start and end of %d bytes', async (size) => {
    const { ask, bytes } = await serviceWith(size)
    const whole: Part = [200, null, [...bytes]]
    const partFrom = (start: number, end: number): Part => {
      const part = [...bytes.slice(start, end + 1)]
      if (part.length === 0) return [416, `bytes */${size}`, []]
      return [206, `bytes ${start}-${start + part.length - 1}/${size}`, part]
    }
    for (let start = 0; start <= size + 1; start++) {
      const expected: Record<string, Part> = { [`${start}-`]: partFrom(start, size) }
      for (let end = 0; end <= size + 1; end++) {
        expected[`${start}-${end}`] = end < start ? whole : partFrom(start, end)
      }
      const last = partFrom(Math.max(size - start, 0), size)
      // The last bytes of an empty object have no range.
      expected[`-${start}`] = size === 0 && start > 0 ? whole : last
      const parts: Record<string, Part> = {}
      for (const range of Object.keys(expected)) {
        parts[range] = await partOf(await ask({ range: `bytes=${range}` }))
      }
      expect(parts).toEqual(expected)
    }
  })

  it.each(['bytes=', 'bytes=-', 'bytes=a-', 'bytes=1', 'bytes=1-2,4-4', 'bytes=-1,-2', 'items=1-2', '1-2'])(
    'gets all bytes for %j, which is several ranges or none',
    async (range) => {
      const { ask, bytes } = await serviceWith(5)
      expect(await partOf(await ask({ range }))).toEqual([200, null, [...bytes]])
    },
  )

  it('accepts numbers beyond every size, and the unit in any case', async () => {
    const { ask } = await serviceWith(3)
    const huge = '9'.repeat(400)
    expect(await partOf(await ask({ range: `Bytes=1-${huge}` }))).toEqual([206, 'bytes 1-2/3', [2, 3]])
    expect(await partOf(await ask({ range: `bytes=-${huge}` }))).toEqual([206, 'bytes 0-2/3', [1, 2, 3]])
    expect(await partOf(await ask({ range: `bytes=${huge}-` }))).toEqual([416, 'bytes */3', []])
  })

  it('gets the part only if If-Range names these bytes', async () => {
    const { ask, storage, upload } = await serviceWith(3)
    const { headers } = await ask({})
    const { eTag } = (await storage.head(upload))!
    expect([headers.get('accept-ranges'), headers.get('etag')]).toEqual(['bytes', eTag])
    const written = headers.get('last-modified')!
    const statusIf = async (ifRange: string) =>
      (await ask({ range: 'bytes=1-1', 'if-range': ifRange })).status
    expect([await statusIf(eTag!), await statusIf(written)]).toEqual([206, 206])
    const later = new Date(Date.parse(written) + 1000).toUTCString()
    for (const other of ['"other"', `W/${eTag}`, later, 'yesterday', '*'])
      expect(await statusIf(other)).toBe(200)
  })

  it('gets no bytes if If-None-Match names these bytes', async () => {
    const { ask, storage, upload } = await serviceWith(3)
    const { eTag } = (await storage.head(upload))!
    for (const tags of ['*', eTag!, `W/${eTag}`, `"a", ${eTag} ,W/"b"`]) {
      const response = await ask({ 'if-none-match': tags, range: 'bytes=9-' })
      expect([tags, response.status, await response.text()]).toEqual([tags, 304, ''])
      expect(response.headers.get('etag')).toBe(eTag)
      expect(response.headers.get('cache-control')).toBe('private, immutable, max-age=60')
      expect(response.headers.has('content-length')).toBe(false)
    }
    for (const tags of ['"other"', '', eTag!.replaceAll('"', '')]) {
      expect((await ask({ 'if-none-match': tags })).status).toBe(200)
    }
  })

  it('is answered alike for HEAD, and keeps the headers of the file', async () => {
    const { ask } = await serviceWith(3)
    const without = {
      'accept-ranges': 'bytes',
      'content-type': 'text/plain',
      'x-content-type-options': 'nosniff',
    }
    for (const [range, status] of [
      ['bytes=1-1', 206],
      ['bytes=3-', 416],
      ['none', 200],
    ] as const) {
      const [one, head] = [await ask({ range }), await ask({ range }, 'HEAD')]
      expect([head.status, await head.text()]).toEqual([status, ''])
      expect([...head.headers]).toEqual([...one.headers])
      if (status < 300) expect(Object.fromEntries(one.headers)).toMatchObject(without)
      // Otherwise browsers would keep the refusal for as long as the bytes.
      else expect(one.headers.get('cache-control')).toBe('private, no-store')
    }
  })
})
