import { beforeEach, describe, expect, it } from 'vitest'
import { readAll } from '../../unit/server/files/bodies.js'
import { faultProxyTo, type Fault } from './fault-proxy.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'
import { serviceOn } from './service-on-s3.js'

const TEXT = 'hello world'
const CHUNKED = { 'transfer-encoding': 'chunked' }
const MIDDLE = { start: 2, end: 4 }

describeS3('files.get behind a gateway', (server) => {
  const bucket = freshBucket(clientOf(server))
  const proxy = faultProxyTo(server.endpoint)
  beforeEach(() => proxy.faults('none'))

  /** Stores the text, and returns what a reader gets of it if the gateway sends this response. */
  async function readThrough(response: Fault, range: { start: number; end?: number } | null) {
    const client = clientOf({ ...server, endpoint: proxy.endpoint }, { maxAttempts: 1 })
    const { s3, reportedBy } = serviceOn(client, bucket)
    const { key } = await s3.files.put({ scope: 'user:ann', route: 'files', filename: 'a', body: TEXT })
    proxy.faultsBy((request) => (request.startsWith('GET') ? response : 'none'))
    const read = async () => Buffer.from(await readAll((await s3.files.get({ key, range })).body)).toString()
    const outcome = await read().catch((error: unknown) => error)
    return { outcome, errors: await reportedBy('files.get') }
  }

  const length = (text: string) => ({ 'content-length': String(text.length) })

  describe.each<[string, Fault, { start: number; end?: number } | null, string]>([
    [
      'ignores the range',
      { status: 200, body: TEXT, headers: length(TEXT) },
      MIDDLE,
      'other bytes than 2 to 4',
    ],
    [
      'ignores the range, without a length',
      { status: 200, body: TEXT, headers: CHUNKED },
      MIDDLE,
      'other bytes',
    ],
    [
      'ignores a range from 0',
      { status: 200, body: TEXT, headers: CHUNKED },
      { start: 0, end: 4 },
      'at least 11 of 5',
    ],
    [
      'returns another range',
      { status: 206, body: 'hel', headers: { ...length('hel'), 'content-range': 'bytes 0-2/11' } },
      MIDDLE,
      'other bytes than 2 to 4',
    ],
    [
      'ends early, without a length',
      { status: 200, body: 'hello', headers: CHUNKED },
      null,
      'returned 5 of 11 bytes',
    ],
    [
      'returns a maintenance page',
      { status: 200, body: '<h1>Maintenance</h1>' },
      null,
      'returned at least 20 of 11',
    ],
  ])('that %s', (_, response, range, reason) => {
    it('fails, and onError gets the reason', async () => {
      const { outcome, errors } = await readThrough(response, range)
      expect(outcome).toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
      const causes = errors.map((error) => String((error as Error).cause))
      expect(causes).toEqual([expect.stringContaining(reason)])
    })
  })

  it.each<[string, Fault, { start: number; end?: number }, string]>([
    ['returns the part with status 200', { status: 200, body: 'llo', headers: length('llo') }, MIDDLE, 'llo'],
    ['ignores a range of everything', { status: 200, body: TEXT, headers: CHUNKED }, { start: 0 }, TEXT],
  ])('that %s works', async (_, response, range, text) => {
    expect((await readThrough(response, range)).outcome).toBe(text)
  })
})
