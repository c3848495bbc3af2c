import { StorageError, type ObjectStorage } from '@svc/db'
import type { StoredBytes } from '@svc/db/adapter'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { doors } from './doors.js'
import { around, BUCKET, bytesOfSize, startService, type ServiceOptions } from './service.js'

const KEY_TOO_LONG = 'ü'.repeat(513)
const readBytes = async (service: ReturnType<typeof startService>, key: string) =>
  new Uint8Array(await new Response((await service.s3.files.get({ key })).body).arrayBuffer())

describe.each(doors)('storing a file by $name', ({ name, store }) => {
  const isUpload = name !== 'files.put'

  it('records it under a random key, and counts it', async () => {
    const service = startService()
    const row = await store(service, { metadata: { album: 'summer' } })
    expect(row).toMatchObject({
      scope: 'user:1',
      bucket: BUCKET,
      key: expect.stringMatching(/^default\/[0-9a-f]{32}$/) as string,
      status: 'active',
      ...{ filename: 'a.txt', contentType: 'text/plain', size: 3, route: 'default', uploadId: null },
      ...{ attemptId: row.id, storageKey: row.key, metadata: { album: 'summer' } },
      eTag: expect.stringMatching(/^"[0-9a-f]{64}"$/) as string,
      confirmedAt: service.clock.now(),
    })
    expect(await readBytes(service, row.key)).toEqual(bytesOfSize(3))
    expect((await store(service, { size: 0 })).key).not.toBe(row.key)
    const usage = { bytes: 3, files: 2, reservedBytes: 0, reservedFiles: 0 }
    expect(await service.objects.getScopeUsage('user:1')).toEqual(usage)
    expect(await service.objects.listLeftovers()).toEqual([])
  })

  it('refuses invalid input, and names the field', async () => {
    const service = startService()
    const refused: (readonly [string, ...unknown[]])[] = [
      ['filename', '', 'x'.repeat(1025), 'a\0b', 'a\ud800', 7],
      ['contentType', 'text', 'text/plain, text/html', 7],
      ['metadata', 'x', { a: 1 }, { a: null }],
      ['route', 'other', 'constructor', '__proto__', 1, ''],
      ...(isUpload ? [['size', undefined, null, -1, 1.5, '3', 2 ** 53] as const] : []),
      ...(isUpload ? [['filename', undefined] as const, ['contentType', undefined] as const] : []),
    ]
    for (const [field, ...values] of refused) {
      for (const value of values) {
        const error = { code: 'VALIDATION_ERROR', params: { field } }
        await expect(store(service, { [field]: value }), `${field} ${String(value)}`).rejects.toMatchObject(
          error,
        )
      }
    }
    expect(await service.objects.countByScope('user:1')).toBe(0)
    expect(service.reported).toEqual([])
    expect(await store(service, { route: null, metadata: null })).toMatchObject({ route: 'default' })
  })

  describe('into one of several routes', () => {
    const routes = {
      avatars: { maxFileSize: 10, contentTypes: ['image/*', 'Application/PDF; a=b'] },
      videos: { bucket: 'large' },
    }

    it('names the route, which determines the bucket', async () => {
      const service = startService({ routes })
      await expect(store(service)).rejects.toMatchObject({ params: { field: 'route' } })
      const row = await store(service, { route: 'videos', ...(isUpload && { bucket: 'other', key: 'mine' }) })
      expect(row).toMatchObject({ route: 'videos', bucket: 'large' })
      expect(row.key).toMatch(/^videos\/[0-9a-f]{32}$/)
    })

    it('is limited in size to the byte, and to types without case and parameters', async () => {
      const service = startService({ routes })
      const image = { route: 'avatars', contentType: 'image/png' }
      expect(await store(service, { ...image, size: 10 })).toMatchObject({ size: 10 })
      const tooLarge = { code: 'FILE_TOO_LARGE', params: { max: 10, size: 11 } }
      await expect(store(service, { ...image, size: 11 })).rejects.toMatchObject(tooLarge)
      for (const contentType of ['IMAGE/PNG; q=1', 'application/pdf', 'application/pdf ;x=y']) {
        expect(await store(service, { ...image, contentType })).toMatchObject({ contentType })
      }
      for (const contentType of ['application/pdfx', 'imagex/png', 'text/html']) {
        const params = { contentType, allowed: 'image/*, application/pdf' }
        const error = { code: 'CONTENT_TYPE_NOT_ALLOWED', params }
        await expect(store(service, { ...image, contentType })).rejects.toMatchObject(error)
      }
    })
  })

  describe('under a key that its route builds', () => {
    it('knows scope, filename and route, and has a storage key without dot segments for each attempt', async () => {
      const key = async ({ scope, filename, route }: Record<'scope' | 'filename' | 'route', string>) =>
        Promise.resolve(`${scope}/../${route}/${filename}`)
      const row = await store(startService({ routes: { docs: { key } } }), { filename: 'ä/./b' })
      expect(row.key).toBe('user:1/../docs/ä/./b')
      expect(row.storageKey).toBe(`user:1/__/docs/ä/_/b~${row.attemptId}`)
    })

    it('refuses an invalid key', async () => {
      for (const key of [KEY_TOO_LONG, '', 'a\0', '\udc00', 7]) {
        const service = startService({ routes: { docs: { key: () => key as string } } })
        const error = { code: 'VALIDATION_ERROR', params: { field: 'key' } }
        await expect(store(service)).rejects.toMatchObject(error)
        expect(await service.objects.countByScope('user:1')).toBe(0)
      }
    })

    it('reports an error of the key function, and responds with INTERNAL_ERROR', async () => {
      const broken = new TypeError('no such template')
      const service = startService({ routes: { docs: { key: () => Promise.reject(broken) } } })
      await expect(store(service)).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
      await Promise.resolve()
      expect(service.reported.map(({ error }) => error)).toEqual([broken])
    })

    it("replaces the owner's object only if the route overwrites, and never another owner's", async () => {
      const replaced: unknown[] = []
      const service = startService({
        routes: { once: { key: () => 'same' }, again: { key: () => 'same', overwrite: true } },
        hooks: { onActivated: (event) => replaced.push(event.replaced) },
      })
      const first = await store(service, { route: 'once' }, 1)
      await expect(store(service, { route: 'once' })).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
      const second = await store(service, { route: 'again', size: 5, filename: 'b.txt' }, 2)
      const { id, createdAt } = first
      expect(second).toMatchObject({ id, createdAt, size: 5, filename: 'b.txt' })
      const { attemptId, storageKey } = first
      expect(await service.objects.listLeftovers()).toMatchObject([{ attemptId, storageKey }])
      const theirs = { route: 'again', scope: 'user:2' }
      await expect(store(service, theirs)).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
      expect(await readBytes(service, 'same')).toEqual(bytesOfSize(5, 2))
      expect(replaced).toEqual([null, first])
    })
  })

  describe('with a quota', () => {
    it('can use it up to the last byte and file, and not exceed it', async () => {
      const service = startService({ quota: { maxBytes: 10, maxFiles: 3 } })
      await store(service, { size: 4 })
      await service.as('user:1').begun({ size: 6 })
      await expect(store(service, { size: 1 })).rejects.toMatchObject({
        code: 'QUOTA_EXCEEDED',
        message: 'The quota of 10 bytes would be exceeded: 10 in use, 1 more requested.',
        params: { limit: 'maxBytes', max: 10, used: 10, reserved: 6, requested: 1 },
      })
      await store(service, { size: 0 })
      const params = { limit: 'maxFiles', max: 3, used: 3, reserved: 1, requested: 1 }
      await expect(store(service, { size: 0 })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', params })
    })

    it('frees what expired reservations of the scope use, and only then', async () => {
      const service = startService({ quota: { maxFiles: 1 } })
      const { object } = await service.as('user:1').begun()
      await service.as('user:2').begun()
      const { expiresAt } = (await service.objects.findPending(object))!
      service.clock.moveTo(new Date(expiresAt!.getTime() - 1))
      await expect(store(service)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      service.clock.advance(1)
      expect(await store(service)).toMatchObject({ status: 'active' })
      expect(await service.objects.find(object)).toBeNull()
      expect(await service.objects.countByScope('user:2')).toBe(1)
    })

    it('holds with concurrent calls', async () => {
      const service = startService({ quota: { maxFiles: 4 } })
      const results = await Promise.allSettled(Array.from({ length: 12 }, () => store(service)))
      const errors = results.flatMap((result) =>
        result.status === 'rejected' ? [result.reason as unknown] : [],
      )
      expect(errors).toMatchObject(Array(8).fill({ code: 'QUOTA_EXCEEDED' }))
      expect(await service.objects.getScopeUsage('user:1')).toMatchObject({ files: 4, reservedFiles: 0 })
    })
  })

  it('calls hooks with the records, after each write and with the request if there is one', async () => {
    const events: unknown[] = []
    const record =
      (hook: string) =>
      async ({ object, request }: { object: { key: string }; request?: Request }) => {
        events.push([hook, await service.objects.find({ bucket: BUCKET, key: object.key }), request?.method])
      }
    const service = startService({
      hooks: { onReserved: record('reserved'), onActivated: record('activated') },
    })
    const row = await store(service)
    const method = isUpload ? 'POST' : undefined
    const pending = expect.objectContaining({ id: row.id, status: 'pending' }) as unknown
    expect(events).toEqual([
      ['reserved', pending, method],
      ['activated', row, method],
    ])
  })

  it.each([new Error('mail server down'), new StorageError('FORBIDDEN')])(
    'is not affected by a hook that throws %o, which is reported',
    async (thrown) => {
      const fail = () => Promise.reject(thrown)
      const service = startService({ hooks: { onReserved: fail, onActivated: fail } })
      expect(await store(service)).toMatchObject({ status: 'active' })
      const operations = service.reported.map(({ error, operation }) => [error, operation])
      expect(operations).toEqual([
        [thrown, 'onReserved'],
        [thrown, 'onActivated'],
      ])
    },
  )

  /** A service whose bucket describes stored bytes differently while `terms` are set. */
  function tamperedService(options: ServiceOptions = {}) {
    const tampering: { terms: Partial<StoredBytes> | null } = { terms: null }
    const storage = (memory: ObjectStorage): ObjectStorage => ({
      ...memory,
      async head(at) {
        const stored = await memory.head(at)
        return stored && { ...stored, ...tampering.terms }
      },
    })
    return { ...startService({ ...options, storage }), tampering }
  }

  it.each<Partial<StoredBytes>>([
    { size: 4 },
    { contentType: 'text/html' },
    { contentType: 'text/html; text/plain' },
    { contentType: null },
    { contentEncoding: 'gzip' },
    { attemptId: '019b7d00-0000-7000-8000-000000000000' },
    { attemptId: null },
  ])('releases and removes bytes with %j, and keeps the object that they were to replace', async (terms) => {
    const service = tamperedService({ routes: { docs: { key: () => 'report', overwrite: true } } })
    const first = await store(service, {}, 1)
    service.tampering.terms = terms
    await expect(store(service, {}, 2)).rejects.toMatchObject({ code: 'UPLOAD_MISMATCH' })
    service.tampering.terms = null
    expect(await service.objects.findActive(first)).toEqual(first)
    expect(await service.objects.findPending(first)).toBeNull()
    const [leftover] = await service.objects.listLeftovers()
    expect(await service.storage.head({ bucket: BUCKET, key: leftover!.storageKey! })).toBeNull()
    expect(await readBytes(service, 'report')).toEqual(bytesOfSize(3, 1))
    const told = service.reported.map(({ error }) => String(error))
    // Every upload URL signs the attempt.
    const isForeign = terms.attemptId === null
    expect(told).toEqual(isForeign ? [expect.stringContaining('without the id of an attempt')] : [])
  })

  it.each(['text/plain;charset=utf-8', 'text/plain; charset="UTF-8"', 'text/plain', 'TEXT/Plain ; a=b'])(
    'accepts the spelling of the media type in the bucket: %s',
    async (contentType) => {
      const service = tamperedService()
      service.tampering.terms = { contentType }
      const asked = 'text/plain; charset=utf-8'
      expect(await store(service, { contentType: asked })).toMatchObject({ contentType: asked })
    },
  )

  it('leaves bytes with other terms to cleanUp if they cannot be removed, and reports that', async () => {
    const service = startService({
      storage: (memory) => ({
        ...memory,
        head: async (at) => ({ ...(await memory.head(at))!, size: 9 }),
        remove: () => Promise.reject(new Error('connection refused')),
      }),
    })
    await expect(store(service)).rejects.toMatchObject({ code: 'UPLOAD_MISMATCH' })
    await Promise.resolve()
    const cause = { message: 'connection refused' }
    expect(service.reported).toMatchObject([{ error: { code: 'STORAGE_UNAVAILABLE', cause } }])
    expect(await service.objects.listLeftovers()).toHaveLength(1)
  })

  it.each(['the bucket', 'the database'])('keeps the reservation while %s is away', async (system) => {
    let isAway = true
    const cause = new Error('getaddrinfo ENOTFOUND internal')
    const service = startService({
      routes: { docs: { key: () => 'report' } },
      storage: (memory) => ({
        ...memory,
        head: (at) => (isAway && system === 'the bucket' ? Promise.reject(cause) : memory.head(at)),
      }),
    })
    const down = new StorageError('DATABASE_UNAVAILABLE', { cause })
    around(service.objects, 'confirm', (confirm) => (input) => {
      return isAway && system === 'the database' ? Promise.reject(down) : confirm(input)
    })
    const code = system === 'the bucket' ? 'STORAGE_UNAVAILABLE' : 'DATABASE_UNAVAILABLE'
    await expect(store(service)).rejects.toMatchObject({ code })
    await Promise.resolve()
    expect(service.reported).toMatchObject([{ error: { code, cause } }])
    expect(await service.objects.findPending({ bucket: BUCKET, key: 'report' })).not.toBeNull()
    isAway = false
    service.clock.advance(48 * HOUR)
    // A later call takes over.
    expect(await store(service)).toMatchObject({ status: 'active' })
    expect(await service.objects.getScopeUsage('user:1')).toMatchObject({ files: 1, reservedFiles: 0 })
  })
})
