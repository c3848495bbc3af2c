import { describe, expect, it } from 'vitest'
import { createQuotaGuard, createStore, StorageError, type Quota } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { recordingDriver } from '../store/recording-driver.js'

const REFERENCE = { bucket: 'photos', key: 'new' }
/** Usage: 60 bytes and 1 file, plus 30 bytes and 1 file reserved. */
const client = memoryAdapter({
  objects: [
    { scope: 'user:1', bucket: 'photos', key: 'a', size: 60 },
    { scope: 'user:1', bucket: 'photos', key: 'b', status: 'pending', declaredSize: 30 },
    { scope: 'user:1', bucket: 'photos', key: 'c', status: 'deleted', size: 1000 },
    { scope: 'user:2', bucket: 'photos', key: 'd', size: 1000 },
  ],
})
const resolveScope = () => 'user:1'

function guarded(quota: Quota, size?: number | null): Promise<void> {
  const guard = createQuotaGuard({ client, resolveScope, ...quota })
  return guard({
    request: new Request('http://localhost/'),
    ...REFERENCE,
    ...(size !== undefined && { size }),
  })
}

describe('createQuotaGuard', () => {
  it('allows exactly maxBytes, and nothing above', async () => {
    await expect(guarded({ maxBytes: 100 }, 10)).resolves.toBeUndefined()
    await expect(guarded({ maxBytes: 100 }, 11)).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      status: 413,
      params: { limit: 'maxBytes', max: 100, used: 90, requested: 11 },
    })
  })

  it('allows exactly maxFiles, and nothing above', async () => {
    await expect(guarded({ maxFiles: 3 }, 10)).resolves.toBeUndefined()
    await expect(guarded({ maxFiles: 2 }, 10)).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      params: { limit: 'maxFiles', max: 2, used: 2, requested: 1 },
    })
  })

  it('reports maxBytes first if both are exceeded', async () => {
    await expect(guarded({ maxBytes: 0, maxFiles: 0 }, 1)).rejects.toMatchObject({
      params: { limit: 'maxBytes' },
    })
  })

  it.each([undefined, null, 0])('treats a size of %s as no additional bytes', async (size) => {
    await expect(guarded({ maxBytes: 90 }, size)).resolves.toBeUndefined()
    await expect(guarded({ maxBytes: 89 }, size)).rejects.toMatchObject({
      params: { max: 89, used: 90, requested: 0 },
    })
  })

  it("doesn't check absent limits", async () => {
    await expect(guarded({}, Number.MAX_SAFE_INTEGER)).resolves.toBeUndefined()
    await expect(guarded({ maxBytes: null, maxFiles: null }, 1e15)).resolves.toBeUndefined()
    await expect(guarded({ maxFiles: 3 }, Number.MAX_SAFE_INTEGER)).resolves.toBeUndefined()
  })

  it('is correct for sums above the largest safe integer', async () => {
    const quota = { maxBytes: Number.MAX_SAFE_INTEGER }
    await expect(guarded(quota, Number.MAX_SAFE_INTEGER - 90)).resolves.toBeUndefined()
    await expect(guarded(quota, Number.MAX_SAFE_INTEGER)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
  })

  it.each([-1, 1.5, NaN, '10' as unknown as number])(
    'rejects with VALIDATION_ERROR for the size %s',
    async (size) => {
      await expect(guarded({ maxBytes: 1000 }, size)).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
        params: { field: 'size' },
      })
    },
  )

  it('rejects with UNAUTHORIZED without a signed-in user, before anything else', async () => {
    const { driver, calls } = recordingDriver()
    const guard = createQuotaGuard({ client: createStore(driver), resolveScope: () => null, maxBytes: 0 })
    const context = { request: new Request('http://localhost/'), ...REFERENCE, size: -1 }
    await expect(guard(context)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    expect(calls).toEqual([])
  })

  it('passes on DATABASE_UNAVAILABLE', async () => {
    const thrown = new StorageError('DATABASE_UNAVAILABLE')
    const down = { ...client, getScopeUsage: () => Promise.reject(thrown) }
    const guard = createQuotaGuard({ client: down, resolveScope, maxBytes: 1 })
    await expect(guard({ request: new Request('http://localhost/'), ...REFERENCE })).rejects.toBe(thrown)
  })

  it.each([
    { maxBytes: -1 },
    { maxBytes: 1.5 },
    { maxBytes: NaN },
    { maxBytes: '10' },
    { maxFiles: Infinity },
    { maxFiles: Number.MAX_SAFE_INTEGER + 1 },
    { maxFiles: {} },
  ])('throws a TypeError for the invalid number %o', (quota) => {
    const make = () => createQuotaGuard({ client, resolveScope, ...(quota as Quota) })
    expect(make).toThrow(TypeError)
    expect(make).toThrow(Object.keys(quota)[0]!)
  })
})
