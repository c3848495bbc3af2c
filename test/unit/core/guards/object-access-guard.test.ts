import { describe, expect, it, vi } from 'vitest'
import { createObjectAccessGuard, StorageError, type AuthorizeContext, type StorageObject } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'

const BUCKET = 'photos'
const client = memoryAdapter({
  objects: [
    { scope: 'user:1', bucket: BUCKET, key: 'mine' },
    { scope: 'user:2', bucket: BUCKET, key: 'other' },
    { scope: 'user:1', bucket: BUCKET, key: 'pending', status: 'pending' },
    { scope: 'user:1', bucket: BUCKET, key: 'deleted', status: 'deleted' },
    { scope: 'user:1', bucket: BUCKET, key: 'replaced', size: 7 },
    { scope: 'user:1', bucket: BUCKET, key: 'replaced', status: 'pending' },
  ],
})
const resolveScope = () => 'user:1'
const at = (key: string) => ({ request: new Request('http://localhost/'), bucket: BUCKET, key })

async function denialOf(result: Promise<unknown>): Promise<StorageError> {
  const error: unknown = await result.then(
    () => new Error('It was not denied.'),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(StorageError)
  return error as StorageError
}

describe('createObjectAccessGuard', () => {
  it('resolves to the row if the caller owns it', async () => {
    const guard = createObjectAccessGuard({ client, resolveScope })
    expect(await guard(at('mine'))).toEqual(await client.find({ bucket: BUCKET, key: 'mine' }))
  })

  it.each([undefined, null])(
    "treats another scope's object like a missing one, authorize: %s",
    async (none) => {
      const guard = createObjectAccessGuard({ client, resolveScope, authorize: none })
      const others = await denialOf(guard(at('other')))
      const missing = await denialOf(guard(at('missing')))
      expect(others.code).toBe('OBJECT_NOT_FOUND')
      expect({ ...others, message: others.message }).toEqual({ ...missing, message: missing.message })
    },
  )

  it('rejects with UNAUTHORIZED without a signed-in user, before it reads the object', async () => {
    const findActive = vi.fn()
    const guard = createObjectAccessGuard({ client: { ...client, findActive }, resolveScope: () => null })
    for (const key of ['mine', 'missing', ''])
      expect((await denialOf(guard(at(key)))).code).toBe('UNAUTHORIZED')
    expect(findActive).not.toHaveBeenCalled()
  })

  it('passes on the errors of the store', async () => {
    const guard = createObjectAccessGuard({ client, resolveScope })
    expect(await denialOf(guard(at('')))).toMatchObject({ params: { field: 'key' } })
    const thrown = new StorageError('DATABASE_UNAVAILABLE')
    const down = { ...client, findActive: () => Promise.reject(thrown) }
    expect(await denialOf(createObjectAccessGuard({ client: down, resolveScope })(at('mine')))).toBe(thrown)
  })

  it.each([undefined, null, 'active' as const])(
    'with the status %s accepts only active objects',
    async (status) => {
      const guard = createObjectAccessGuard({ client, resolveScope, status })
      expect(await guard(at('mine'))).toMatchObject({ status: 'active' })
      for (const key of ['pending', 'deleted']) {
        expect((await denialOf(guard(at(key)))).code).toBe('OBJECT_NOT_FOUND')
      }
    },
  )

  it('with the status any accepts active objects, then pending ones, and never deleted ones', async () => {
    const guard = createObjectAccessGuard({ client, resolveScope, status: 'any' })
    expect(await guard(at('pending'))).toMatchObject({ status: 'pending' })
    expect(await guard(at('replaced'))).toMatchObject({ status: 'active', size: 7 })
    expect((await denialOf(guard(at('deleted')))).code).toBe('OBJECT_NOT_FOUND')
  })

  it.each(['pending', '', 5, true])('throws a TypeError for the status %o', (status) => {
    const make = () => createObjectAccessGuard({ client, resolveScope, status: status as 'any' })
    expect(make).toThrow(TypeError)
    expect(make).toThrow('"active" or "any"')
  })
})

describe('authorize', () => {
  const guardWith = (authorize: (object: StorageObject, context: AuthorizeContext) => unknown) =>
    createObjectAccessGuard({ client, resolveScope, authorize: authorize as () => boolean })

  it('replaces the owner check: true allows an object of another scope', async () => {
    expect(await guardWith(() => true)(at('other'))).toMatchObject({ scope: 'user:2' })
    expect(await guardWith(async () => true)(at('other'))).toMatchObject({ scope: 'user:2' })
  })

  it.each([false, 1, 'true', {}, [true], null, undefined, 0])(
    'rejects with FORBIDDEN for any other result, even for the owner: %o',
    async (result) => {
      expect((await denialOf(guardWith(() => result)(at('mine')))).code).toBe('FORBIDDEN')
      expect((await denialOf(guardWith(async () => result)(at('mine')))).code).toBe('FORBIDDEN')
    },
  )

  it('gets the object and the context, with the scope of the request instead of one that is passed in', async () => {
    const authorize = vi.fn(() => true)
    const context = { ...at('other'), route: 'avatars', size: 5 }
    await guardWith(authorize)({ ...context, scope: 'admin' })
    const object = await client.find({ bucket: BUCKET, key: 'other' })
    expect(authorize.mock.calls).toEqual([[object, { ...context, scope: 'user:1', object }]])
  })

  it('gets the scope null without a signed-in user, and may allow it', async () => {
    const authorize = (_object: StorageObject, context: AuthorizeContext) => context.scope === null
    const guard = createObjectAccessGuard({ client, resolveScope: () => undefined, authorize })
    expect(await guard(at('mine'))).toMatchObject({ key: 'mine' })
  })

  it.each(['missing', 'deleted', 'pending'])('is not called without an object (%s)', async (key) => {
    const authorize = vi.fn(() => true)
    expect((await denialOf(guardWith(authorize)(at(key)))).code).toBe('OBJECT_NOT_FOUND')
    expect(authorize).not.toHaveBeenCalled()
  })

  it('can throw a StorageError, and denies without the reason if it throws anything else', async () => {
    const hidden = new StorageError('OBJECT_NOT_FOUND')
    const throwing = guardWith(() => {
      throw hidden
    })
    expect(await denialOf(throwing(at('mine')))).toBe(hidden)
    const cause = new Error('the role table is gone')
    const denial = await denialOf(guardWith(() => Promise.reject(cause))(at('mine')))
    expect(denial).toMatchObject({ code: 'FORBIDDEN', message: new StorageError('FORBIDDEN').message, cause })
  })
})
