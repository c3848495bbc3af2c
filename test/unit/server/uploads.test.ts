import { createAttemptId, StorageError, type ObjectStorage } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { begun, sent, uploads } from './doors.js'
import { BUCKET, bytesOfSize, errorOf, expectStatus, startService } from './service.js'

describe.each(uploads)('$name', (upload) => {
  const { begin, finish, abort, operations } = upload
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

  it('says that it has expired, if its bytes had not arrived by then', async () => {
    const { as, clock } = startService()
    const attempt = await begun(upload, as('user:1'))
    clock.advance(48 * HOUR)
    expect(await errorOf(await finish(as('user:1'), attempt))).toEqual({
      status: 409,
      code: 'UPLOAD_MISMATCH',
      message: 'The upload has expired. Start a new one.',
    })
    await abort(as('user:1'), attempt)
    expect(await errorOf(await finish(as('user:1'), attempt))).toEqual({
      status: 404,
      code: 'OBJECT_NOT_FOUND',
      message: 'The upload does not exist. It may have ended or expired.',
    })
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
