import type { GuardContext, ObjectMetadata, StorageObject, UploadRoute } from '@svc/db'
import { StorageError } from '@svc/db'
import { describe, expect, it, vi } from 'vitest'
import { BUCKET, startService, type ServiceOptions } from './service.js'

const FIELDS = ['filename', 'metadata', 'contentType'] as const

/** Starts a service with one route, and uploads an object to it. */
async function started(route: UploadRoute = {}, options: ServiceOptions = {}) {
  const service = startService({ routes: { docs: route }, update: { fields: FIELDS }, ...options })
  const caller = service.as('user:1')
  const { key, id } = await caller.upload()
  const at = { bucket: BUCKET, key }
  return {
    ...{ service, caller, key, id, at },
    row: async () => (await service.objects.findActive(at))!,
    patch: async (body: object) => {
      const response = await caller.send('PATCH', `/db/object?id=${id}`, body)
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    },
    mark: (setMetadata: ObjectMetadata) => service.objects.update({ ...at, setMetadata }),
  }
}

describe('PATCH /db/object', () => {
  it('is off by default, and changes only filenames if it is just on', async () => {
    expect((await (await started({}, { update: false })).patch({ filename: 'a' })).status).toBe(405)
    const { patch, row } = await started({}, { update: true })
    expect((await patch({ filename: 'a' })).body).toMatchObject({ object: { filename: 'a' } })
    for (const [field, value] of Object.entries({ contentType: 'a/b', metadata: null, setMetadata: {} })) {
      expect((await patch({ filename: 'b', [field]: value })).body).toMatchObject({ params: { field } })
    }
    expect(await row()).toMatchObject({ filename: 'a', contentType: 'text/plain' })
  })

  it('returns the names that clients see, as every response with an object', async () => {
    const { caller, patch } = await started({}, { update: { fields: FIELDS }, visibleMetadata: ['album'] })
    const changed = await patch({ setMetadata: { album: 'Summer', secret: 'x' } })
    expect(changed.body).toMatchObject({ object: { metadata: { album: 'Summer' } } })
    const { object } = await caller.begun({ metadata: { album: 'Winter', secret: 'x' } })
    expect(object.metadata).toEqual({ album: 'Winter' })
    expect((await caller.upload({ metadata: { album: 'Winter', secret: 'x' } })).metadata).toEqual({
      album: 'Winter',
    })
    const parts = await caller.send('POST', '/multipart', {
      ...{ filename: 'a', contentType: 'a/b', size: 3, metadata: { album: 'Winter', secret: 'x' } },
    })
    expect(await parts.json()).toMatchObject({ object: { metadata: { album: 'Winter' } } })
  })

  it('asks the guard after the ownership check, with a copy of the object', async () => {
    const guard = vi.fn(({ object }: GuardContext) => {
      Object.assign(object!, { scope: 'user:2' })
      throw new StorageError('FORBIDDEN')
    })
    const { service, patch, row, id, key } = await started({}, { update: { guard } })
    const before = await row()
    expect((await patch({ filename: 'a' })).status).toBe(403)
    expect(guard.mock.lastCall![0]).toMatchObject({
      bucket: BUCKET,
      key,
      scope: 'user:1',
      size: 3,
      route: 'docs',
    })
    await service.as('user:2').send('PATCH', `/db/object?id=${id}`, { filename: 'a' })
    expect(guard).toHaveBeenCalledOnce()
    expect(await row()).toEqual(before)
  })

  it('asks the guard again about a version that has replaced the checked one', async () => {
    const seen: string[] = []
    const replace = vi.fn(async (): Promise<unknown> => undefined)
    const guard = async ({ object }: GuardContext) => {
      seen.push(object!.attemptId)
      await replace()
    }
    const { service, patch, row, at } = await started({}, { update: { guard } })
    replace.mockImplementationOnce(async () => {
      const expiresAt = service.clock.in(1000)
      const { id } = await service.objects.reserve({ ...at, scope: 'user:1', declaredSize: 1, expiresAt })
      return service.objects.confirm({ ...at, id, size: 1 })
    })
    const first = await row()
    expect((await patch({ filename: 'a' })).status).toBe(200)
    const second = await row()
    expect(second.filename).toBe('a')
    expect(seen).toEqual([first.attemptId, second.attemptId])
  })
})

describe('the word of the route', () => {
  it('refuses metadata with `metadata: false`, also names and null', async () => {
    const { patch, mark, row } = await started({ metadata: false })
    await mark({ scan: 'infected' })
    for (const [field, value] of [
      ['metadata', null],
      ['metadata', {}],
      ['setMetadata', { scan: 'clean' }],
    ] as const) {
      expect((await patch({ [field]: value })).body).toMatchObject({
        code: 'VALIDATION_ERROR',
        params: { field },
      })
    }
    expect((await patch({ filename: 'a' })).status).toBe(200)
    expect((await row()).metadata).toEqual({ scan: 'infected' })
  })

  it('lets a function decide what is stored, which knows what the server has written', async () => {
    const metadata = vi.fn(
      (given: ObjectMetadata | null, { object }: { object?: StorageObject }): ObjectMetadata | null => {
        const scan = object?.metadata?.['scan']
        const { album } = given ?? {}
        return album || scan ? { ...(album && { album }), ...(scan && { scan }) } : null
      },
    )
    const { patch, mark, row } = await started({ metadata })
    expect(metadata.mock.lastCall![1].object).toBeUndefined()
    await mark({ scan: 'infected' })
    const object = await row()
    await patch({ metadata: { album: 'Summer', scan: 'clean', more: 'x' } })
    expect(metadata.mock.lastCall).toMatchObject([
      { album: 'Summer', scan: 'clean', more: 'x' },
      { scope: 'user:1', object },
    ])
    expect((await row()).metadata).toEqual({ album: 'Summer', scan: 'infected' })
    await patch({ setMetadata: { album: 'Winter', scan: null } })
    expect(metadata.mock.lastCall![0]).toEqual({ album: 'Winter' })
    expect((await row()).metadata).toEqual({ album: 'Winter', scan: 'infected' })
    await patch({ metadata: null })
    expect(metadata.mock.lastCall![0]).toBeNull()
    expect((await row()).metadata).toEqual({ scan: 'infected' })
  })

  it('keeps a mark that the server sets while the function decides', async () => {
    const decided = vi.fn(async (): Promise<unknown> => undefined)
    const { patch, mark, row } = await started({
      async metadata(given, { object }) {
        await decided()
        return given && { ...object?.metadata, ...given }
      },
    })
    await mark({ old: '1', scan: 'pending' })
    decided.mockImplementationOnce(() => mark({ scan: 'clean', shared: 'yes' }))
    await patch({ metadata: { album: 'Summer' } })
    expect((await row()).metadata).toEqual({ old: '1', scan: 'clean', shared: 'yes', album: 'Summer' })
  })

  it('refuses more names than there may be before it asks the function, and reports a bad result', async () => {
    const metadata = vi.fn((given: ObjectMetadata | null) => (given?.['bad'] ? (5 as never) : given))
    const { service, patch, mark } = await started({ metadata })
    await mark(Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`name ${index}`, ''])))
    metadata.mockClear()
    expect((await patch({ setMetadata: { more: '' } })).body).toMatchObject({
      params: { field: 'setMetadata' },
    })
    expect(metadata).not.toHaveBeenCalled()
    expect((await patch({ metadata: { bad: 'yes' } })).status).toBe(500)
    expect(service.reported.map(({ operation }) => operation)).toEqual(['db.updateObject'])
  })

  it('refuses types that the route does not allow', async () => {
    const { patch, row } = await started({ contentTypes: ['text/*'] })
    expect((await patch({ contentType: 'image/png', filename: 'a' })).body).toMatchObject({
      ...{ code: 'CONTENT_TYPE_NOT_ALLOWED', params: { contentType: 'image/png', allowed: 'text/*' } },
    })
    expect(await row()).toMatchObject({ contentType: 'text/plain', filename: 'a.txt' })
    expect((await patch({ contentType: 'TEXT/html' })).status).toBe(200)
  })

  it('binds no object whose route is unknown', async () => {
    const { service, caller } = await started({ metadata: false, contentTypes: ['text/*'] })
    for (const route of ['gone', 'constructor', null]) {
      const at = { bucket: BUCKET, key: `key of ${route}` }
      const reservation = {
        ...at,
        scope: 'user:1',
        route,
        declaredSize: 1,
        expiresAt: service.clock.in(1000),
      }
      await service.objects.reserve(reservation)
      await service.objects.confirm({ ...at, size: 1 })
      const path = `/db/object?key=${encodeURIComponent(at.key)}`
      const changes = { contentType: 'image/png', metadata: { a: 'b' } }
      expect((await caller.send('PATCH', path, changes)).status).toBe(200)
      expect(await service.objects.findActive(at)).toMatchObject(changes)
    }
  })
})

describe('s3.db.update', () => {
  it('changes all fields for own routes, under the same rules', async () => {
    const guard = vi.fn()
    const { service, id, key, row } = await started({ metadata: false }, { update: { guard } })
    const { db } = service.s3
    const request = service.as('user:1').request('POST', '/own')
    const changed = await db.update(request, { key, filename: 'b', contentType: 'text/html' })
    expect(changed).toEqual(await row())
    expect(changed).toMatchObject({ filename: 'b', contentType: 'text/html', scope: 'user:1' })
    expect(guard).toHaveBeenCalledOnce()
    const code = (code: string, field?: string) =>
      expect.objectContaining({ code, ...(field && { params: { field } }) }) as Error
    const stranger = service.as('user:2').request('POST', '/own')
    await expect(db.update(stranger, { id, filename: 'c' })).rejects.toEqual(code('OBJECT_NOT_FOUND'))
    await expect(db.update(service.as(null).request('POST', '/own'), { id, filename: 'c' })).rejects.toEqual(
      code('UNAUTHORIZED'),
    )
    await expect(db.update(request, { id, setMetadata: { a: 'b' } })).rejects.toEqual(
      code('VALIDATION_ERROR', 'setMetadata'),
    )
    await expect(db.update(request, { id })).rejects.toEqual(code('VALIDATION_ERROR', 'body'))
    await expect(db.update(request, { id, filname: 'c' } as object)).rejects.toEqual(
      code('VALIDATION_ERROR', 'filname'),
    )
    expect(await row()).toEqual(changed)
  })
})
