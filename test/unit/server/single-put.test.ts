import { createAttemptId, type ObjectStorage } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR, SECOND } from '../../conformance/clock.js'
import { sent, uploads } from './doors.js'
import { around, BUCKET, bytesOfSize, errorOf, startService } from './service.js'

describe('POST /upload', () => {
  it('returns the pending record, and a URL that needs no headers which browsers forbid', async () => {
    const { as, clock } = startService()
    const body = await as('user:1').begun({ metadata: { secret: 'plan-b' } })
    expect(body.object).toEqual({
      id: expect.any(String) as string,
      key: expect.any(String) as string,
      ...{ bucket: BUCKET, status: 'pending', createdAt: clock.now().toISOString(), filename: 'a.txt' },
      ...{ contentType: 'text/plain', declaredSize: 3, route: 'default' },
    })
    const headers = {
      'content-type': 'text/plain',
      'if-none-match': '*',
      'x-amz-meta-attempt-id': body.object.id,
    }
    expect(body.upload).toEqual({
      method: 'PUT',
      url: expect.stringMatching(/^https:\/\/app\.example\/api\/s3\/_storage\/[\w.-]+$/) as string,
      headers,
      expiresAt: clock.in(900 * SECOND).toISOString(),
    })
  })

  it.each([
    [{}, 0, 900 + 3600, 900],
    [{}, 1, 900 + 3600 + 1, 900],
    [{}, 64 * 1024, 900 + 3600 + 1, 900],
    [{}, 64 * 1024 + 1, 900 + 3600 + 2, 900],
    [{}, 1024 ** 3, 900 + 3600 + 16384, 900],
    [{ upload: { expiresIn: 60 } }, 0, 3660, 60],
    [{ pendingTtlSeconds: 1000 }, 1024 ** 2, 1000, 900],
    [{ pendingTtlSeconds: 100 }, 1024 ** 2, 100, 100],
  ])(
    'with %o reserves %d bytes for %d s, and its URL is valid for %d s',
    async (options, size, reserved, valid) => {
      const writableUntil: unknown[] = []
      const storage = (memory: ObjectStorage): ObjectStorage => ({
        ...memory,
        signUpload: (input) => (writableUntil.push(input.writableUntil), memory.signUpload(input)),
      })
      const { as, objects, clock } = startService({ ...options, storage })
      const { object, upload } = await as('user:1').begun({ size })
      const { expiresAt } = (await objects.findPending(object))!
      expect(expiresAt).toEqual(clock.in(reserved * SECOND))
      expect(writableUntil).toEqual([expiresAt])
      expect(upload.expiresAt).toBe(clock.in(valid * SECOND).toISOString())
    },
  )

  it('fails if a hook lasts longer than the reservation', async () => {
    const hooks = { onReserved: () => service.clock.advance(10 * SECOND) }
    const service = startService({ pendingTtlSeconds: 10, hooks })
    expect(await errorOf(await service.as('user:1').begin())).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
    expect(await service.objects.countByScope('user:1')).toBe(0)
  })

  it('accepts the media types of RFC 9110 with spaces instead of tabs, and repairs parameters', async () => {
    const accepted = [
      ...['text/plain', 'TEXT/Plain', 'image/svg+xml', 'application/vnd.ms-excel', "x!#$%&'*+.^_`|~-/y"],
      ...['text/plain;charset=utf-8', 'text/plain; charset=utf-8', 'text/plain \t; charset="utf 8"'],
      ...['text/plain; a="\\"quoted\\" and \\\\"; b=c', 'text/plain;', 'text/plain;; a=b'],
      ...[`text/${'x'.repeat(250)}`, 'text/plain;\ta="b\tc"'],
    ]
    const repaired = [
      ['video/webm;codecs=vp8,opus', 'video/webm;codecs="vp8,opus"'],
      ['video/mp4; codecs=avc1.42E01E, mp4a.40.2; x=y', 'video/mp4;codecs="avc1.42E01E, mp4a.40.2";x=y'],
      ['audio/ogg; a="b,c" ; codecs=opus; ', 'audio/ogg;a="b,c";codecs=opus'],
      ['text/plain; a="b;c"; d=/', 'text/plain;a="b;c";d="/"'],
      [`a/b;c=${'x'.repeat(248)},`, 'a/b'],
      ['text/plain; a="b", text/html;c=d', 'text/plain;c=d'],
      ...[
        '',
        ' ',
        '; ',
        '; a',
        '; a=',
        '; a= ',
        '; a = b',
        '; a="b',
        ';, text/html',
        '; a=b"c',
        '; a=b\\',
      ].map((parameters) => [`text/plain${parameters}`, 'text/plain']),
      ...['; a="ü"', '; a="\u0001"', '; a=b\r\nx-evil: 1', '; \t'.repeat(80)].map((parameters) => [
        `text/plain${parameters}`,
        'text/plain',
      ]),
    ] as const
    const refused = [
      ...['', 'text', 'text/', '/plain', 'text/plain/x', 'text /plain', ' text/plain'],
      ...['text/plain, text/html', 'text/plain\r\nx-evil: 1', 'text/pläin', `text/${'x'.repeat(251)}`],
    ]
    const caller = startService().as('user:1')
    const kept = accepted.map((contentType) => [contentType, contentType.replaceAll('\t', ' ')] as const)
    for (const [contentType, sent] of [...kept, ...repaired]) {
      const { object, upload } = await caller.begun({ contentType })
      expect([contentType, object.contentType, upload.headers['content-type']]).toEqual([
        contentType,
        sent,
        sent,
      ])
    }
    for (const contentType of refused) {
      const { params } = await errorOf(await caller.begin({ contentType }))
      expect([contentType, params]).toEqual([contentType, { field: 'contentType' }])
    }
  })

  it('builds safe keys and storage keys from any name', async () => {
    const names = ['über uns/..', 'x'.repeat(100), '😀😀', '__proto__', 'constructor']
    const caller = startService({ routes: Object.fromEntries(names.map((name) => [name, {}])) }).as('user:1')
    const prefixes = []
    for (const route of names) prefixes.push((await caller.begun({ route })).object.key.split('/')[0])
    expect(prefixes).toEqual(['_ber_uns___', 'x'.repeat(64), '__', '__proto__', 'constructor'])
    for (const [key, readable] of [
      ['./..', '_/__'],
      ['...', '...'],
      ['/a//b', '/a//b'],
      ['x/'.repeat(512), `${'x/'.repeat(493)}x`],
      [`${'ü/'.repeat(328)}y/ü`, `${'ü/'.repeat(328)}y/`],
      // Services that keep objects as files allow a segment 255 bytes.
      [`x/${'x'.repeat(300)}`, `x/${'x'.repeat(218)}`],
      ['😀'.repeat(256), '😀'.repeat(54)],
      [`docs/${'漢'.repeat(84)}.md`, `docs/${'漢'.repeat(72)}`],
    ] as const) {
      const { as, objects } = startService({ routes: { docs: { key: () => key } } })
      const { object } = await as('user:1').begun()
      const { storageKey } = (await objects.findPending(object))!
      expect(storageKey).toBe(`${readable}~${object.id}`)
      expect(new TextEncoder().encode(storageKey!).byteLength).toBeLessThanOrEqual(1024)
    }
  })
})

describe('an upload of the application', () => {
  const row = { scope: 'user:1', bucket: BUCKET, key: 'own', declaredSize: 3 }

  it('keeps its bytes if they do not match, because it has no storage key', async () => {
    const { as, objects, clock, storage } = startService()
    const terms = { ...row, contentType: 'text/plain', attemptId: createAttemptId() }
    await storage.write!({ ...terms, body: bytesOfSize(3) })
    const pending = await objects.reserve({ ...row, expiresAt: clock.in(HOUR) })
    expect((await as('user:1').confirm(pending)).status).toBe(409)
    expect(await objects.find(pending)).toBeNull()
    expect(await storage.head(row)).not.toBeNull()
  })

  it('has the metadata of s3.db.reserve, whatever its route refuses', async () => {
    const { as, s3 } = startService({ routes: { docs: { metadata: false } } })
    const request = as('user:1').request('POST', '/import')
    const input = { key: 'a', declaredSize: 1, route: 'docs', metadata: { scanned: 'no' } }
    expect((await s3.db.reserve(request, input)).metadata).toEqual({ scanned: 'no' })
  })
})

it('a mismatch releases the attempt before its bytes are removed, and leaves an ended attempt alone', async () => {
  const removedRows: unknown[] = []
  let isEnded = false
  const service = startService({
    storage: (memory) => ({
      ...memory,
      async head(at) {
        if (isEnded) await service.objects.release(at)
        return { ...(await memory.head(at))!, size: 9 }
      },
      remove: async (at) => void removedRows.push(await service.objects.find(at)),
    }),
  })
  for (const [ended, rows] of [
    [false, [null]],
    [true, [null]],
  ] as const) {
    isEnded = ended
    const { object } = await sent(uploads[0]!, service.as('user:1'))
    expect((await service.as('user:1').confirm(object)).status).toBe(409)
    expect(removedRows).toEqual(rows)
  }
})

it('a call of the bucket that throws synchronously is a failure of the bucket', async () => {
  const broken = () => {
    throw new TypeError('bad config')
  }
  const { as } = startService({ storage: (memory) => ({ ...memory, head: broken }) })
  const { object } = await as('user:1').begun()
  expect((await as('user:1').confirm(object)).status).toBe(502)
})

it('an abort of an upload that has ended concurrently is a 404', async () => {
  const { as, objects } = startService()
  const { object } = await as('user:1').begun()
  around(objects, 'findPending', (find) => async (input) => {
    const row = await find(input)
    await objects.release(input)
    return row
  })
  expect((await as('user:1').abort(object)).status).toBe(404)
})
