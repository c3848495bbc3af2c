import { createS3Server, db, memoryStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { sent } from '../doors.js'
import { BUCKET, bytesOfSize, errorOf, expectStatus } from '../service.js'
import {
  arrived,
  checkedService,
  KEY,
  olderVersion,
  OWNER,
  recorded,
  routes,
  uploads,
  verdictOn,
} from './checked.js'

const missing = { code: 'OBJECT_NOT_FOUND' }

describe.each(uploads)('a checked upload by $name', (upload) => {
  it('stays pending once it is confirmed, and a repeated confirm returns the same', async () => {
    const service = checkedService()
    const { attempt, object, row } = await arrived(service, { upload })
    expect(object).toMatchObject({ status: 'pending', checking: true, size: 3, declaredSize: 3 })
    expect(row).toMatchObject({ uploadId: null, arrivedAt: service.clock.now() })
    expect(row.expiresAt).toEqual(service.clock.in(7 * 86_400_000))
    expect(await expectStatus(await upload.finish(service.as(OWNER), attempt), 200)).toEqual({ object })
    expect(await recorded(service)).toEqual(['arrived'])
  })

  it('replaces the older version once it is accepted, and acceptance can be repeated', async () => {
    const activated: unknown[] = []
    const service = checkedService({ hooks: { onActivated: (event) => void activated.push(event) } })
    const older = await olderVersion(service)
    const { attempt, row } = await arrived(service, { upload, fill: 2 })
    expect(activated).toHaveLength(1)
    const accepted = await service.s3.files.accept(verdictOn(row))
    expect(accepted).toMatchObject({ status: 'active', id: older.id, attemptId: row.id, arrivedAt: null })
    expect(await service.s3.files.accept(accepted)).toEqual(accepted)
    expect(activated.slice(1)).toEqual([{ object: accepted, replaced: older }])
    expect(await service.as(OWNER).bytes(KEY)).toEqual(bytesOfSize(3, 2))
    const repeated = await expectStatus(await upload.finish(service.as(OWNER), attempt), 200)
    expect(repeated).toMatchObject({ object: { status: 'active', id: older.id } })
    expect(await recorded(service)).toEqual(['activated', 'arrived', 'activated'])
    const leftovers = await service.objects.listLeftovers()
    expect(leftovers.map(({ attemptId }) => attemptId)).toEqual([older.attemptId])
    await expect(service.s3.files.reject(verdictOn(row))).rejects.toMatchObject(missing)
  })

  it('ends by a rejection, whose reason the owner gets for an hour, whatever happens at the key', async () => {
    const rejected: unknown[] = []
    const service = checkedService({ hooks: { onRejected: (event) => void rejected.push(event) } })
    const owner = service.as(OWNER)
    await olderVersion(service)
    const { attempt, row } = await arrived(service, { upload, fill: 2 })
    const reason = 'Contains a virus.'
    expect(await service.s3.files.reject({ ...verdictOn(row), reason })).toEqual(row)
    expect(rejected).toEqual([{ object: row, reason }])
    expect(await recorded(service)).toEqual(['activated', 'arrived', 'rejected'])
    expect(await owner.bytes(KEY)).toEqual(bytesOfSize(3, 9))
    expect(await service.s3.files.put({ ...file, route: 'plain' })).toMatchObject({ status: 'active' })

    const refusal = { status: 409, code: 'UPLOAD_REJECTED', params: { reason } }
    service.clock.advance(3_599_999)
    expect(await errorOf(await upload.finish(owner, attempt))).toMatchObject(refusal)
    expect(await errorOf(await upload.finish(service.as('user:2'), attempt))).toMatchObject(missing)
    expect(await errorOf(await upload.abort(owner, attempt))).toMatchObject(missing)
    for (const verdict of ['accept', 'reject'] as const) {
      await expect(service.s3.files[verdict](verdictOn(row))).rejects.toMatchObject(missing)
    }
    service.clock.advance(1)
    expect(await errorOf(await upload.finish(owner, attempt))).toMatchObject(missing)
    expect(service.reported).toEqual([])
  })

  it('removes rejected bytes at once', async () => {
    const service = checkedService()
    const { row } = await arrived(service, { upload })
    await service.s3.files.reject(verdictOn(row))
    const stored = await service.storage.head({ bucket: BUCKET, key: row.storageKey! })
    expect(stored?.size ?? 0).toBe(0)
    const leftovers = await service.objects.listLeftovers()
    expect(leftovers.map(({ attemptId }) => attemptId)).toEqual([row.id])
  })

  it("ends by its owner's abort, but not once it is accepted", async () => {
    const service = checkedService()
    const owner = service.as(OWNER)
    const first = await arrived(service, { upload })
    expect((await upload.abort(service.as('user:2'), first.attempt)).status).toBe(404)
    expect((await upload.abort(owner, first.attempt)).status).toBe(204)
    await expect(service.s3.files.accept(verdictOn(first.row))).rejects.toMatchObject(missing)
    expect(await service.objects.countByScope(OWNER)).toBe(0)

    const second = await arrived(service, { upload })
    await service.s3.files.accept(verdictOn(second.row))
    expect((await upload.abort(owner, second.attempt)).status).toBe(404)
    expect(await service.objects.countByScope(OWNER, 'active')).toBe(1)
    expect(await recorded(service)).toEqual(['arrived', 'arrived', 'activated'])
  })

  it('has no URLs or lists of parts any more', async () => {
    const service = checkedService()
    const { attempt } = await arrived(service, { upload })
    const { key, id } = attempt.object
    for (const path of ['/multipart/parts', '/multipart/list']) {
      const named = { key, id, uploadId: attempt.uploadId ?? 'u1', partNumbers: [1] }
      expect((await service.as(OWNER).send('POST', path, named)).status).toBe(404)
    }
  })

  it('is not confirmed by a request that names another upload id', async () => {
    const service = checkedService()
    const owner = service.as(OWNER)
    const { object } = await sent(upload, owner, { route: 'docs' })
    const wrong = { key: object.key, id: object.id, uploadId: 'another' }
    expect((await owner.send('POST', '/multipart/complete', wrong)).status).toBe(404)
    expect((await service.objects.findPending({ ...object }))!.arrivedAt).toBeNull()
  })
})

const file = { scope: OWNER, filename: 'a.txt', contentType: 'text/plain', body: bytesOfSize(3, 4) }

describe('files.put({ checkSeconds })', () => {
  it('returns the pending row, also where the route has no check, and ignores that of the route', async () => {
    const service = checkedService()
    const row = await service.s3.files.put({ ...file, route: 'plain', checkSeconds: 60 })
    expect(row).toMatchObject({ status: 'pending', size: 3, expiresAt: service.clock.in(60_000) })
    expect(await service.s3.files.put({ ...file, route: 'docs' })).toMatchObject({ status: 'active' })
    await expect(service.s3.files.put({ ...file, route: 'docs', checkSeconds: 59 })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      params: { field: 'checkSeconds' },
    })
  })
})

describe('accept', () => {
  it.each(['another size', 'another ETag', 'no bytes'])(
    'ends an upload that has %s by now',
    async (change) => {
      const service = checkedService({
        storage: (memory) => ({
          ...memory,
          async head(at) {
            const stored = await memory.head(at)
            if (!isChanged || !stored) return stored
            if (change === 'no bytes') return null
            return change === 'another size' ? { ...stored, size: 4 } : { ...stored, eTag: '"other"' }
          },
        }),
      })
      let isChanged = false
      const older = await olderVersion(service)
      const { row, attempt } = await arrived(service, { fill: 2 })
      isChanged = true
      await expect(service.s3.files.accept(verdictOn(row))).rejects.toMatchObject({ code: 'UPLOAD_MISMATCH' })
      await expect(service.s3.files.accept(verdictOn(row))).rejects.toMatchObject(missing)
      expect(await errorOf(await service.as(OWNER).confirm(attempt.object))).toMatchObject(missing)
      expect(await recorded(service)).toEqual(['activated', 'arrived'])
      expect(await service.objects.findActive({ bucket: BUCKET, key: KEY })).toEqual(older)
      expect(await service.objects.checkUsage()).toEqual([])
    },
  )

  it('refuses an upload that has not arrived, one that was displaced, and one of another owner', async () => {
    const service = checkedService()
    const { object } = await sent(uploads[0]!, service.as(OWNER), { route: 'docs' })
    const verdict = { key: KEY, attemptId: object.id }
    await expect(service.s3.files.accept(verdict)).rejects.toMatchObject(missing)
    await expect(service.s3.files.reject(verdict)).rejects.toMatchObject(missing)
    expect((await service.objects.findPending({ bucket: BUCKET, key: KEY }))!.id).toBe(object.id)
    const first = await arrived(service)
    const second = await arrived(service)
    await expect(service.s3.files.accept(verdictOn(first.row))).rejects.toMatchObject(missing)
    const stranger = { ...verdictOn(second.row), scope: 'user:2' }
    await expect(service.s3.files.accept(stranger)).rejects.toMatchObject(missing)
    await expect(service.s3.files.reject(stranger)).rejects.toMatchObject(missing)
    expect(await service.s3.files.accept(second.row)).toMatchObject({ attemptId: second.row.id })
  })

  it('sets a content type, and checks its input', async () => {
    const service = checkedService()
    const { row } = await arrived(service)
    const accept = (more: object) => service.s3.files.accept({ ...verdictOn(row), ...more })
    for (const [field, value] of Object.entries({ contentType: 'png', attemptId: 'x', conentType: 'a/b' })) {
      await expect(accept({ [field]: value })).rejects.toMatchObject({ params: { field } })
    }
    expect(await accept({ contentType: 'image/png' })).toMatchObject({ contentType: 'image/png' })
  })
})

describe('in the way', () => {
  it("refuses another owner, and the owner's upload where the route does not allow overwrite", async () => {
    const service = checkedService()
    const { row } = await arrived(service, { route: 'once' })
    service.clock.advance(3 * 86_400_000)
    const own = await errorOf(await service.as(OWNER).begin({ route: 'once' }))
    expect(own).toMatchObject({ code: 'KEY_CONFLICT' })
    expect(own.message).toContain('A file of yours with this key is being checked')
    const other = await errorOf(await service.as('user:2').begin({ route: 'once' }))
    expect(other).toMatchObject({ code: 'KEY_CONFLICT', message: 'The key is already in use.' })
    expect(await service.s3.files.accept(verdictOn(row))).toMatchObject({ status: 'active' })
  })

  it('tells guards whether a file waits, and what would be replaced', async () => {
    const seen: unknown[] = []
    const guard = ({ waiting, replaces }: { waiting?: boolean; replaces?: object | null }) =>
      void seen.push([waiting, replaces === null])
    const service = checkedService({ upload: { guard } })
    await arrived(service)
    await service.as(OWNER).begin({ route: 'docs' })
    await service.as(OWNER).begin({ route: 'once' })
    expect(seen).toEqual([
      [false, true],
      [true, true],
      [false, true],
    ])
  })

  it('ends by DELETE /object, together with the object that it would replace', async () => {
    const service = checkedService()
    await arrived(service)
    expect((await service.as(OWNER).delete(KEY)).status).toBe(204)
    await olderVersion(service)
    await arrived(service)
    expect((await service.as(OWNER).delete(KEY)).status).toBe(204)
    expect(await service.objects.countByScope(OWNER)).toBe(0)
    expect(await recorded(service)).toEqual(['arrived', 'activated', 'arrived', 'deleted'])
  })
})

describe('the quota', () => {
  it('counts the size of a waiting file, and is not asked again by accept', async () => {
    let maxBytes = 6
    const service = checkedService({ quota: () => ({ maxBytes }) })
    const { row } = await arrived(service)
    expect(await service.objects.getScopeUsage(OWNER)).toMatchObject({ bytes: 0, reservedBytes: 3 })
    maxBytes = 0
    expect(await service.s3.files.accept(verdictOn(row))).toMatchObject({ status: 'active' })
    expect(await service.objects.getScopeUsage(OWNER)).toMatchObject({ bytes: 3, reservedBytes: 0 })
  })
})

it('refuses a route with check on a storage that replaces bytes', () => {
  const plugins = [db({ client: memoryAdapter(), resolveScope: () => OWNER })] as const
  const storage = { ...memoryStorage(), createOnly: false }
  const make = (check: boolean) =>
    createS3Server({ bucket: BUCKET, storage, plugins, routes: { docs: { check } } })
  expect(() => make(true)).toThrow(/createS3Server: the upload route "docs" can't have check/)
  expect(() => make(false)).not.toThrow()
})

it('checks what the server itself stores on a storage that replaces bytes', async () => {
  const service = checkedService({
    routes: { plain: { key: () => KEY } },
    storage: (memory) => ({ ...memory, createOnly: false }),
  })
  const row = await service.s3.files.put({ ...file, checkSeconds: 60 })
  expect(row).toMatchObject({ status: 'pending', arrivedAt: service.clock.now() })
  expect(await service.s3.files.accept(verdictOn(row))).toMatchObject({ status: 'active' })
})

it('lets uploads wait on whose route has lost its check, before and after they have arrived', async () => {
  const first = checkedService()
  const { row } = await arrived(first)
  const begun = await sent(uploads[0]!, first.as(OWNER), { route: 'once' })
  const { clock, objects, storage } = first
  const without = { docs: { ...routes.docs, check: false }, once: { key: () => 'once' } }
  const second = checkedService({ clock, objects, storage: () => storage, routes: without })
  expect(await second.objects.findPending(row)).toEqual(row)
  const confirmed = await expectStatus(await second.as(OWNER).confirm(begun.object), 200)
  expect(confirmed).toMatchObject({ object: { status: 'pending', checking: true } })
  expect(await second.s3.files.accept(verdictOn(row))).toMatchObject({ status: 'active' })
})
