import { createAttemptId, StorageError, type ObjectStorage, type Quota, type UploadRoute } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR, SECOND } from '../../conformance/clock.js'
import { begun, sent, uploads } from './doors.js'
import { around, BUCKET, bytesOfSize, errorOf, expectStatus, startService } from './service.js'

const overwriting = { docs: { key: () => 'report', overwrite: true } }

describe.each(uploads)('$name', (upload) => {
  const { begin, send, finish, abort, operations } = upload
  const guardOption = operations[0]

  it('requires authentication, and limits the size by what S3 accepts, before anything is reserved', async () => {
    const { as, objects } = startService()
    expect(await errorOf(await begin(as(null)))).toMatchObject({ status: 401, code: 'UNAUTHORIZED' })
    const max = guardOption === 'upload' ? 5 * 1024 ** 3 : 5 * 1024 ** 4
    expect(await errorOf(await begin(as('user:1'), { size: max + 1 }))).toEqual({
      status: 413,
      code: 'FILE_TOO_LARGE',
      message: `size must be at most ${max} bytes (got ${max + 1}).`,
      params: { max, size: max + 1 },
    })
    expect(await objects.countByScope('user:1')).toBe(0)
    expect((await begin(as('user:1'), { size: max })).status).toBe(201)
  })

  describe('and its guards', () => {
    it('run in order, between the validation and the reservation, and know the upload', async () => {
      const seen: unknown[] = []
      const guard = (name: string) => (context: { request: Request }) => {
        const { request, ...rest } = context
        seen.push([name, new URL(request.url).pathname, rest])
      }
      const never = { guard: () => expect.unreachable() }
      const { as, objects } = startService({
        ...{ upload: never, multipart: never, [guardOption]: { guard: guard('operation') } },
        routes: { docs: { bucket: 'docs', guard: guard('route') } },
      })
      const { object } = await begun(upload, as('user:1'))
      const context = { bucket: 'docs', key: object.key, scope: 'user:1', route: 'docs', size: 3 }
      const path = `/api/s3/${guardOption}`
      expect(seen).toEqual([
        ['operation', path, context],
        ['route', path, context],
      ])
      expect((await begin(as('user:1'), { size: -1 })).status).toBe(400)
      expect((await begin(as(null))).status).toBe(401)
      expect(seen).toHaveLength(2)
      expect(await objects.countByScope('user:1')).toBe(1)
    })

    it('deny by throwing, which ends the request and is reported', async () => {
      const never = () => expect.unreachable()
      const denial = new Error('card expired')
      const service = startService({
        [guardOption]: { guard: () => Promise.reject(denial) },
        routes: { docs: { guard: never } },
        quota: never,
      })
      const message = 'You do not have permission to do this.'
      expect(await errorOf(await begin(service.as('user:1')))).toEqual({
        status: 403,
        code: 'FORBIDDEN',
        message,
      })
      expect(await service.objects.countByScope('user:1')).toBe(0)
      expect(await service.reportedBy(guardOption)).toEqual([denial])
    })

    it('determine the response with a StorageError', async () => {
      const error = { message: 'Sign in again.', params: { hint: 'sso' } }
      const guard = () => Promise.reject(new StorageError('UNAUTHORIZED', error))
      const { as, reported } = startService({ routes: { docs: { guard } } })
      const response = { status: 401, code: 'UNAUTHORIZED', ...error }
      expect(await errorOf(await begin(as('user:1')))).toEqual(response)
      expect(reported).toEqual([])
    })
  })

  describe('and its quota function', () => {
    it('knows the scope and the request', async () => {
      const seen: string[] = []
      const { as } = startService({
        quota: async (scope, request) => {
          seen.push(`${scope} ${new URL(request.url).pathname}`)
          return scope === 'user:1' ? { maxFiles: 0 } : null
        },
      })
      expect((await begin(as('user:1'))).status).toBe(413)
      expect((await begin(as('user:2'))).status).toBe(201)
      expect(seen).toEqual([`user:1 /api/s3/${guardOption}`, `user:2 /api/s3/${guardOption}`])
    })

    it.each([
      () => Promise.reject(new Error('no plan')),
      () => undefined,
      () => 5,
      () => ({ maxBytes: -1 }),
      () => ({ maxFiles: 0.5 }),
      () => ({ maxBytes: '10' }),
    ])('is an INTERNAL_ERROR without a valid result, and never unlimited: %s', async (quota) => {
      const service = startService({ quota: quota as () => Quota })
      const message = 'Something went wrong.'
      const response = { status: 500, code: 'INTERNAL_ERROR', message }
      expect(await errorOf(await begin(service.as('user:1')))).toEqual(response)
      expect(await service.objects.countByScope('user:1')).toBe(0)
      expect(await service.reportedBy(guardOption)).toHaveLength(1)
    })

    it('determines the response with a StorageError', async () => {
      const { as, reported } = startService({ quota: () => Promise.reject(new StorageError('UNAUTHORIZED')) })
      expect((await begin(as('user:1'))).status).toBe(401)
      expect(reported).toEqual([])
    })
  })

  describe('and the metadata of its route', () => {
    const SENT = { album: 'sea', owner: 'user:2' }
    const serviceWith = (metadata: UploadRoute['metadata']) =>
      startService({ routes: { docs: { metadata } } })
    async function stored(metadata: UploadRoute['metadata'], given: unknown) {
      const { as, objects } = serviceWith(metadata)
      const { object } = await begun(upload, as('user:1'), { metadata: given })
      return (await objects.findPending(object))!.metadata
    }

    it('is what the client sent, by default', async () => {
      for (const option of [undefined, null]) expect(await stored(option, SENT)).toEqual(SENT)
    })

    it('false refuses any metadata', async () => {
      for (const given of [null, undefined]) expect(await stored(false, given)).toBeNull()
      for (const metadata of [SENT, {}, 7, []]) {
        const { as, objects } = serviceWith(false)
        const response = await errorOf(await begin(as('user:1'), { metadata }))
        expect(response).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'metadata' } })
        expect(await objects.countByScope('user:1')).toBe(0)
      }
    })

    it('is what the function returns, which knows what was sent, the request and the scope', async () => {
      const option: UploadRoute['metadata'] = async (given, { request, scope }) =>
        Promise.resolve({ given: JSON.stringify(given), scope, method: request.method })
      const built = { scope: 'user:1', method: 'POST' }
      expect(await stored(option, SENT)).toEqual({ ...built, given: JSON.stringify(SENT) })
      for (const none of [null, undefined])
        expect(await stored(option, none)).toEqual({ ...built, given: 'null' })
      for (const result of [null, {}]) expect(await stored(() => result, SENT)).toEqual(result)
    })

    it('is not asked of the function for a refused upload', async () => {
      const metadata = () => expect.unreachable()
      const { as } = startService({ routes: { docs: { maxFileSize: 3, metadata } } })
      expect((await begin(as('user:1'), { metadata: { size: 3 } })).status).toBe(400)
      expect((await begin(as('user:1'), { size: 4 })).status).toBe(413)
      expect((await begin(as(null))).status).toBe(401)
    })

    it('keeps the code of a StorageError that the function throws, and hides other errors', async () => {
      const forbidden = new StorageError('FORBIDDEN', { message: 'Albums are for members.' })
      const known = serviceWith(() => Promise.reject(forbidden))
      const refused = await errorOf(await begin(known.as('user:1')))
      expect(refused).toMatchObject({ status: 403, message: 'Albums are for members.' })
      expect(known.reported).toEqual([])

      const failure = new Error('albums.internal is down')
      const { as, objects, reported } = serviceWith(() => Promise.reject(failure))
      const hidden = { status: 500, code: 'INTERNAL_ERROR', message: 'Something went wrong.' }
      expect(await errorOf(await begin(as('user:1')))).toEqual(hidden)
      expect(reported.map(({ error }) => error)).toEqual([failure])
      expect(await objects.countByScope('user:1')).toBe(0)
    })

    it.each([undefined, [], { size: 3 }, { text: 'x'.repeat(16 * 1024) }, { text: '\0' }])(
      'is an INTERNAL_ERROR if the function returns invalid metadata: %#',
      async (result) => {
        const { as, objects, reported } = serviceWith(() => result as never)
        const { code, params } = await errorOf(await begin(as('user:1')))
        expect([code, params]).toEqual(['INTERNAL_ERROR', undefined])
        const message = /^The metadata function of the upload route "docs" .*: metadata must /
        expect(reported).toMatchObject([
          { error: { code, message: expect.stringMatching(message) as string } },
        ])
        expect(await objects.countByScope('user:1')).toBe(0)
      },
    )
  })

  it('releases its reservation if the bucket refuses to start it', async () => {
    const cause = new Error('no credentials')
    const fail = () => Promise.reject(cause)
    const storage = (memory: ObjectStorage): ObjectStorage => ({
      ...memory,
      signUpload: fail,
      multipart: { ...memory.multipart!, create: fail },
    })
    const service = startService({ storage })
    expect(await errorOf(await begin(service.as('user:1')))).toEqual({
      status: 502,
      code: 'STORAGE_UNAVAILABLE',
      message: 'The storage is unavailable.',
    })
    expect(await service.objects.countByScope('user:1')).toBe(0)
    expect(await service.reportedBy(guardOption)).toMatchObject([{ cause }])

    service.objects.release = () => Promise.reject(new StorageError('DATABASE_UNAVAILABLE'))
    expect((await begin(service.as('user:1'))).status).toBe(502)
    expect(await service.objects.countByScope('user:1')).toBe(1)
    const codes = (await service.reportedBy(guardOption)).map((error) => (error as StorageError).code)
    expect(codes).toEqual(['STORAGE_UNAVAILABLE', 'DATABASE_UNAVAILABLE', 'STORAGE_UNAVAILABLE'])
  })

  it('is confirmed once: a repetition calls neither the hook nor the bucket', async () => {
    let heads = 0
    const activated: unknown[] = []
    const { as } = startService({
      storage: (memory) => ({ ...memory, head: (at) => (heads++, memory.head(at)) }),
      hooks: { onActivated: (event) => activated.push(event) },
    })
    const attempt = await sent(upload, as('user:1'))
    const first = await expectStatus(await finish(as('user:1'), attempt), 200)
    expect(await expectStatus(await finish(as('user:1'), attempt), 200)).toEqual(first)
    expect([heads, activated.length]).toEqual([1, 1])
    expect((await abort(as('user:1'), attempt)).status).toBe(404)
    expect(await as('user:1').bytes('' + attempt.object.key)).toEqual(bytesOfSize(3))
  })

  it('is confirmed even if the client disconnects', async () => {
    const disconnect = new AbortController()
    const { as, s3, objects } = startService({
      storage: (memory) => ({ ...memory, head: (at) => (disconnect.abort(), memory.head(at)) }),
    })
    const attempt = await sent(upload, as('user:1'))
    const caller = as('user:1')
    const { signal } = disconnect
    const disconnecting = Object.assign(as('user:1'), {
      send: (...asked: Parameters<typeof caller.send>) =>
        s3.handler(new Request(caller.request(...asked), { signal })),
    })
    expect((await finish(disconnecting, attempt)).status).toBe(200)
    expect(signal.aborted).toBe(true)
    expect(await objects.findActive(attempt.object)).toMatchObject({ attemptId: attempt.object.id })
  })

  it('can be confirmed after its reservation has expired, until that is released', async () => {
    const { as, clock, objects } = startService()
    const attempts = [await sent(upload, as('user:1')), await sent(upload, as('user:1'))] as const
    clock.advance(48 * HOUR)
    expect((await finish(as('user:1'), attempts[0])).status).toBe(200)
    await objects.purgeExpired()
    expect(await errorOf(await finish(as('user:1'), attempts[1]))).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
  })

  it('keeps its reservation while bytes are missing, and the object that it is to replace until it is confirmed', async () => {
    const { as, objects } = startService({ routes: overwriting })
    await as('user:1').upload({}, 1)
    const attempt = await begun(upload, as('user:1'))
    const missing = { status: 409, code: 'UPLOAD_MISMATCH' }
    expect(await errorOf(await finish(as('user:1'), attempt))).toMatchObject(missing)
    expect(await objects.findPending(attempt.object)).toMatchObject({ id: attempt.object.id })
    await send(as('user:1'), attempt, 2)
    expect(await as('user:1').bytes('report')).toEqual(bytesOfSize(3, 1))
    await expectStatus(await finish(as('user:1'), attempt), 200)
    expect(await as('user:1').bytes('report')).toEqual(bytesOfSize(3, 2))
  })

  it('replaces an earlier attempt of its owner, which can no longer be confirmed or aborted', async () => {
    const { as, objects } = startService({ routes: overwriting })
    const caller = as('user:1')
    const first = await sent(upload, caller, {}, 1)
    const second = await sent(upload, caller, {}, 2)
    expect((await finish(caller, first)).status).toBe(404)
    expect((await abort(caller, first)).status).toBe(404)
    expect(await objects.listLeftovers()).toMatchObject([{ attemptId: first.object.id }])
    expect((await finish(caller, second)).status).toBe(200)
    expect(await caller.bytes('report')).toEqual(bytesOfSize(3, 2))
  })

  it('ends with an abort, which frees its quota and leaves its bytes to cleanUp', async () => {
    const { as, objects } = startService()
    const attempt = await sent(upload, as('user:1'))
    const { storageKey } = (await objects.findPending(attempt.object))!
    const response = await abort(as('user:1'), attempt)
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect(await objects.find(attempt.object)).toBeNull()
    expect(await objects.getScopeUsage('user:1')).toMatchObject({ reservedBytes: 0, reservedFiles: 0 })
    expect(await objects.listLeftovers()).toMatchObject([{ attemptId: attempt.object.id, storageKey }])
    expect((await abort(as('user:1'), attempt)).status).toBe(404)
    expect((await finish(as('user:1'), attempt)).status).toBe(404)
  })

  it('is found only by its bucket, key and ids, and by the requests of its kind', async () => {
    const service = startService({ routes: { docs: { bucket: 'large' } } })
    const caller = service.as('user:1')
    const attempt = await sent(upload, caller)
    const other = await sent(upload, caller)
    const { object } = attempt
    const wrong = [
      { ...attempt, object: { ...object, bucket: BUCKET } },
      { ...attempt, object: { ...object, key: 'missing' } },
      { ...attempt, object: { ...object, id: other.object.id } },
      { ...attempt, object: { ...object, id: createAttemptId() } },
      ...(guardOption === 'multipart' ? [{ ...attempt, uploadId: other.uploadId }] : []),
    ]
    const [ofOtherKind] = uploads.filter(({ name }) => name !== upload.name)
    for (const ended of [finish, abort]) {
      for (const reference of wrong) {
        expect(await errorOf(await ended(caller, reference))).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
      }
    }
    for (const ended of [ofOtherKind!.finish, ofOtherKind!.abort]) {
      expect((await ended(caller, { ...attempt, uploadId: attempt.uploadId ?? 'u1' })).status).toBe(404)
    }
    expect((await finish(caller, attempt)).status).toBe(200)
  })

  it('refuses an invalid reference, and names the field', async () => {
    const caller = startService().as('user:1')
    const { object, uploadId = 'u1' } = await begun(upload, caller)
    const { key, id } = object
    const [finishing, ending] =
      guardOption === 'upload'
        ? ['/upload/confirm', '/upload/abort']
        : ['/multipart/complete', '/multipart/abort']
    const refused: (readonly [string, ...unknown[]])[] = [
      ['key', '', 7, 'x'.repeat(1025), null],
      ['id', '', 'x', null, id.toUpperCase(), '018f3b5c-0000-4000-8000-000000000000'],
      ['bucket', '', ['files']],
      ...(guardOption === 'multipart' ? [['uploadId', undefined, '', 7, 'x'.repeat(1025)] as const] : []),
    ]
    for (const [field, ...values] of refused) {
      for (const value of values) {
        for (const path of [finishing, ending]) {
          const response = await caller.send('POST', path, { key, id, uploadId, [field]: value })
          const error = { status: 400, code: 'VALIDATION_ERROR', params: { field } }
          expect(await errorOf(response)).toMatchObject(error)
        }
      }
    }
    // The bucket of the server is the default.
    expect((await caller.send('POST', ending, { key, id, uploadId })).status).toBe(204)
  })
})

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

  it('accepts exactly the media types of RFC 9110, with spaces instead of tabs', async () => {
    const accepted = [
      ...['text/plain', 'TEXT/Plain', 'image/svg+xml', 'application/vnd.ms-excel', "x!#$%&'*+.^_`|~-/y"],
      ...['text/plain;charset=utf-8', 'text/plain; charset=utf-8', 'text/plain \t; charset="utf 8"'],
      ...['text/plain; a="\\"quoted\\" and \\\\"; b=c', 'text/plain;', 'text/plain;; a=b'],
      ...[`text/${'x'.repeat(250)}`, 'text/plain;\ta="b\tc"'],
    ]
    const refused = [
      ...['', 'text', 'text/', '/plain', 'text/plain/x', 'text /plain', ' text/plain', 'text/plain '],
      ...['text/plain; ', 'text/plain; a', 'text/plain; a=', 'text/plain; a = b', 'text/plain; a="b'],
      ...['text/plain, text/html', 'text/plain\r\nx-evil: 1', 'text/pläin', 'text/plain; a="ü"'],
      ...['text/plain; a="\u0001"', `a/b${'; \t'.repeat(80)}x`, `text/${'x'.repeat(251)}`],
    ]
    const caller = startService().as('user:1')
    for (const contentType of accepted) {
      const { object, upload } = await caller.begun({ contentType })
      const sent = contentType.replaceAll('\t', ' ')
      expect([object.contentType, upload.headers['content-type']]).toEqual([sent, sent])
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
      ['x'.repeat(1024), 'x'.repeat(987)],
      ['😀'.repeat(256), '😀'.repeat(246)],
      [`${'x'.repeat(986)}ü`, 'x'.repeat(986)],
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
