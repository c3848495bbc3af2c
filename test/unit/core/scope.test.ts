import { describe, expect, it, vi } from 'vitest'
import type { StorageError } from '@svc/db'
import { createObjectAccessGuard, createQuotaGuard, db, type ResolveScope } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { errorBody } from '../../../src/core/errors.js'
import { requireScope, resolveScopeOnce } from '../../../src/core/scope.js'

const newRequest = () => new Request('http://localhost/api/s3/db/objects')

describe('the scope of a request', () => {
  it.each<[string, ResolveScope]>([
    ['returned', () => 'user:42'],
    ['promised', async () => 'user:42'],
  ])('is what resolveScope has %s for the request, once, also for concurrent calls', async (_how, of) => {
    const resolveScope = vi.fn(of)
    const request = newRequest()
    const calls = [requireScope(resolveScope, request), requireScope(resolveScope, request)]
    expect(await Promise.all(calls)).toEqual(['user:42', 'user:42'])
    expect(await requireScope(resolveScope, request)).toBe('user:42')
    expect(resolveScope.mock.calls).toEqual([[request]])
    expect(resolveScope.mock.calls[0]![0]).toBe(request)
  })

  it('is resolved again for another request or another function', async () => {
    let calls = 0
    const counting = () => `user:${++calls}`
    const request = newRequest()
    expect(await requireScope(counting, request)).toBe('user:1')
    expect(await requireScope(counting, newRequest())).toBe('user:2')
    expect(await requireScope(counting, request.clone())).toBe('user:3')
    expect(await requireScope(() => 'other', request)).toBe('other')
    expect(await requireScope(counting, request)).toBe('user:1')
  })

  it.each([null, undefined])(
    'rejects with UNAUTHORIZED if the result is %s, resolved once',
    async (result) => {
      const resolveScope = vi.fn<ResolveScope>(() => result)
      const request = newRequest()
      const refusal = { code: 'UNAUTHORIZED', status: 401 }
      await expect(requireScope(resolveScope, request)).rejects.toMatchObject(refusal)
      await expect(requireScope(resolveScope, request)).rejects.toMatchObject(refusal)
      expect(await resolveScopeOnce(resolveScope, request)).toBeNull()
      expect(resolveScope).toHaveBeenCalledTimes(1)
    },
  )

  it.each<[string, (error: Error) => ResolveScope]>([
    [
      'throws',
      (error) => () => {
        throw error
      },
    ],
    ['rejects', (error) => () => Promise.reject(error)],
  ])('rejects with INTERNAL_ERROR and the cause if the function %s', async (_how, failing) => {
    const cause = new Error('session store at 10.0.0.7 is down')
    const resolveScope = vi.fn(failing(cause))
    const request = newRequest()
    const first: unknown = await requireScope(resolveScope, request).catch((thrown: unknown) => thrown)
    expect(first).toMatchObject({ code: 'INTERNAL_ERROR', cause })
    expect(JSON.stringify(errorBody(first as StorageError))).not.toContain('10.0.0.7')
    await expect(requireScope(resolveScope, request)).rejects.toBe(first)
    expect(resolveScope).toHaveBeenCalledTimes(1)
  })

  it('is resolved once for the plugin and all guards that share the function', async () => {
    const resolveScope = vi.fn<ResolveScope>(() => 'user:42')
    const client = memoryAdapter({ objects: [{ scope: 'user:42', bucket: 'photos', key: 'a.png' }] })
    const request = newRequest()
    const context = { request, bucket: 'photos', key: 'a.png' }
    const plugin = db({ client, resolveScope })
    await createObjectAccessGuard({ client, resolveScope })(context)
    await createObjectAccessGuard({ client, resolveScope, authorize: () => true })(context)
    await createQuotaGuard({ client, resolveScope })(context)
    await plugin.release(request, { bucket: 'photos', key: 'a.png' })
    expect((await plugin.handler(request)).status).toBe(200)
    expect(resolveScope).toHaveBeenCalledTimes(1)
  })
})
