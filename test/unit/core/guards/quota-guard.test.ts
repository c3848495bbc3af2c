import { describe, expect, it, vi } from 'vitest'
import { createQuotaGuard, type Quota } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'

const CONTEXT = { request: new Request('http://localhost/'), bucket: 'photos', key: 'new' }
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
const MOST = Number.MAX_SAFE_INTEGER

function guarded(quota: Quota, size?: unknown): Promise<void> {
  const guard = createQuotaGuard({ client, resolveScope, ...quota })
  return guard({ ...CONTEXT, ...(size !== undefined && { size: size as number }) })
}

describe('createQuotaGuard', () => {
  it.each<[Quota, number | null | undefined]>([
    [{ maxBytes: 100 }, 10],
    [{ maxBytes: 90 }, 0],
    [{ maxBytes: 90 }, null],
    [{ maxBytes: 90 }, undefined],
    [{ maxFiles: 3 }, MOST],
    [{ maxBytes: MOST }, MOST - 90],
    [{ maxBytes: null, maxFiles: null }, MOST],
    [{}, MOST],
  ])('allows, with %j, %d bytes', async (quota, size) => {
    await expect(guarded(quota, size)).resolves.toBeUndefined()
  })

  it.each<[Quota, number | undefined, object]>([
    [{ maxBytes: 100 }, 11, { limit: 'maxBytes', max: 100, used: 90, requested: 11 }],
    [{ maxBytes: 89 }, undefined, { limit: 'maxBytes', max: 89, used: 90, requested: 0 }],
    [{ maxBytes: MOST }, MOST, { limit: 'maxBytes', used: 90, requested: MOST }],
    [{ maxFiles: 2 }, 10, { limit: 'maxFiles', max: 2, used: 2, requested: 1 }],
    [{ maxBytes: 0, maxFiles: 0 }, 1, { limit: 'maxBytes' }],
  ])('refuses, with %j, %d bytes', async (quota, size, params) => {
    await expect(guarded(quota, size)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', status: 413, params })
  })

  it.each([-1, 1.5, NaN, '10'])('rejects with VALIDATION_ERROR for the size %s', async (size) => {
    const refusal = { code: 'VALIDATION_ERROR', params: { field: 'size' } }
    await expect(guarded({ maxBytes: 1000 }, size)).rejects.toMatchObject(refusal)
  })

  it('rejects with UNAUTHORIZED without a signed-in user, before anything else', async () => {
    const getScopeUsage = vi.fn()
    const guard = createQuotaGuard({ client: { ...client, getScopeUsage }, resolveScope: () => null })
    await expect(guard({ ...CONTEXT, size: -1 })).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    expect(getScopeUsage).not.toHaveBeenCalled()
  })

  it.each([{ maxBytes: -1 }, { maxBytes: '10' }, { maxFiles: Infinity }, { maxFiles: MOST + 1 }])(
    'throws a TypeError for the invalid quota %o',
    (quota) => {
      const make = () => createQuotaGuard({ client, resolveScope, ...(quota as Quota) })
      expect(make).toThrow(TypeError)
      expect(make).toThrow(Object.keys(quota)[0]!)
    },
  )
})
