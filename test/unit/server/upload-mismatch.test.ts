import { createAttemptId, type ObjectStorage, type StoredBytes } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { bytesOfSize, errorOf, startService } from './service.js'

const overwriting = { docs: { key: () => 'report', overwrite: true } }

describe('an upload that does not match its request', () => {
  const matching = (attemptId: string): StoredBytes => ({
    size: 3,
    contentType: 'text/plain',
    eTag: '"e"',
    attemptId,
  })
  const others: [string, Partial<StoredBytes>][] = [
    ['another size', { size: 4 }],
    ['another type', { contentType: 'text/html' }],
    ['a type in another case', { contentType: 'Text/plain' }],
    ['no type', { contentType: null }],
    ['another attempt', { attemptId: createAttemptId() }],
    ['no attempt', { attemptId: null }],
  ]

  /** Creates a service whose bucket reports other bytes. */
  function bucketWith(
    other: Partial<StoredBytes>,
    id: () => string,
    { broken = false, onRemove = async (): Promise<unknown> => undefined } = {},
  ) {
    const removed: string[] = []
    const storage = (memory: ObjectStorage): ObjectStorage => ({
      ...memory,
      head: async () => ({ ...matching(id()), ...other }),
      async remove({ key }) {
        if (broken) throw new Error('connection refused')
        removed.push(key)
        await onRemove()
      },
    })
    return { storage, removed }
  }

  it.each(others)('is released and removed: %s', async (_, other) => {
    let id = ''
    const { storage, removed } = bucketWith(other, () => id)
    const { as, objects } = startService({ storage, routes: overwriting })
    const { object } = await as('user:1').begun()
    id = object.id
    const { storageKey } = (await objects.findPending(object))!

    expect(await errorOf(await as('user:1').confirm(object))).toMatchObject({
      status: 409,
      code: 'UPLOAD_MISMATCH',
    })
    expect(await objects.find(object)).toBeNull()
    expect(removed).toEqual([storageKey])
    expect((await as('user:1').confirm(object)).status).toBe(404)
  })

  it('is released before its bytes are removed, to prevent a concurrent confirm', async () => {
    let id = ''
    const rows: unknown[] = []
    const onRemove = async () => rows.push(await service.objects.find({ bucket: 'files', key: 'report' }))
    const { storage } = bucketWith({ size: 9 }, () => id, { onRemove })
    const service = startService({ storage, routes: overwriting })
    id = (await service.as('user:1').begun()).object.id
    expect((await service.as('user:1').confirm({ key: 'report', id })).status).toBe(409)
    expect(rows).toEqual([null])
  })

  it('does not affect the object that it was to replace', async () => {
    let tampered = false
    const { as, objects } = startService({
      routes: overwriting,
      storage: (memory) => ({
        ...memory,
        async head(at) {
          const stored = await memory.head(at)
          return stored && tampered ? { ...stored, size: 99 } : stored
        },
      }),
    })
    const caller = as('user:1')
    const first = await caller.upload({}, 1)
    const before = await objects.findActive(first)
    const { object, upload } = await caller.begun()
    await caller.put(upload, bytesOfSize(3, 2))
    tampered = true
    expect((await caller.confirm(object)).status).toBe(409)
    expect(await objects.findActive(first)).toEqual(before)
    expect(await caller.bytes('report')).toEqual(bytesOfSize(3, 1))
  })

  it('is reported and left to cleanUp if its bytes cannot be removed', async () => {
    let id = ''
    const { storage } = bucketWith({ size: 9 }, () => id, { broken: true })
    const { as, objects, reportedBy } = startService({ storage })
    const { object } = await as('user:1').begun()
    id = object.id
    expect((await as('user:1').confirm(object)).status).toBe(409)
    expect(await reportedBy('upload.confirm')).toMatchObject([
      { code: 'STORAGE_UNAVAILABLE', cause: { message: 'connection refused' } },
    ])
    expect(await objects.listLeftovers()).toMatchObject([{ attemptId: id }])
  })

  it('keeps its bytes if the row has no storageKey, because the application manages them', async () => {
    const { storage, removed } = bucketWith({ attemptId: null }, () => '')
    const { as, objects, clock } = startService({ storage })
    const expiresAt = clock.in(HOUR)
    const row = await objects.reserve({
      scope: 'user:1',
      bucket: 'files',
      key: 'own',
      declaredSize: 3,
      expiresAt,
    })
    expect((await as('user:1').confirm(row)).status).toBe(409)
    expect(await objects.find(row)).toBeNull()
    expect(removed).toEqual([])
  })

  it('is left alone if the attempt has ended concurrently', async () => {
    let id = ''
    const { storage, removed } = bucketWith({ size: 9 }, () => id)
    const { as, objects } = startService({
      storage: (memory) => ({
        ...storage(memory),
        async head(at) {
          await objects.release({ bucket: 'files', key: at.key })
          return storage(memory).head(at)
        },
      }),
    })
    const { object } = await as('user:1').begun()
    id = object.id
    expect((await as('user:1').confirm(object)).status).toBe(409)
    expect(removed).toEqual([])
  })
})
