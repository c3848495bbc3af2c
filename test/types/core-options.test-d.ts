import { describe, expectTypeOf, it } from 'vitest'
import {
  chainHooks,
  createAttemptId,
  createObjectAccessGuard,
  createQuotaGuard,
  db,
  type ActivatedEvent,
  type Guard,
  type Handler,
  type StorageObject,
  type StorageObjectStore,
} from '@svc/db'
import {
  createStore,
  type DbContext,
  type EndpointDescription,
  type InstalledPlugin,
  type StoreDriver,
} from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'

declare const client: StorageObjectStore
declare const driver: StoreDriver
declare const request: Request
const resolveScope = () => 'user:1'

describe('db()', () => {
  it('accepts a scope or a promise of one, and null or undefined without a signed-in user', () => {
    db({ client, resolveScope: () => null })
    db({ client, resolveScope: () => undefined })
    db({ client, resolveScope: async (of) => of.headers.get('x-user') })
    // @ts-expect-error a scope is a string
    db({ client, resolveScope: () => 42 })
    // @ts-expect-error a scope is a string
    db({ client, resolveScope: async () => ({ id: 'user:1' }) })
    // @ts-expect-error resolveScope is required
    db({ client })
    // @ts-expect-error the client is required
    db({ resolveScope })
  })

  it('accepts only explicit quotas', () => {
    db({ client, resolveScope, quota: { maxBytes: 5, maxFiles: null } })
    db({ client, resolveScope, quota: null })
    db({ client, resolveScope, quota: async (scope, of) => (scope === of?.url ? null : { maxFiles: 1 }) })
    // @ts-expect-error files.put asks without a request
    db({ client, resolveScope, quota: (scope, of) => ({ maxFiles: of.url.length }) })
    const quota = (scope: string, of: Request) => (scope === of.url ? null : { maxFiles: 1 })
    // @ts-expect-error files.put asks without a request
    db({ client, resolveScope, quota })
    // @ts-expect-error no quota is null, not undefined
    db({ client, resolveScope, quota: () => undefined })
    // @ts-expect-error a quota is a number
    db({ client, resolveScope, quota: { maxBytes: '5' } })
    // @ts-expect-error misspelt limit
    db({ client, resolveScope, quota: { maxSize: 5 } })
  })

  it('refuses unknown modes, hooks and options', () => {
    // @ts-expect-error unknown mode
    db({ client, resolveScope, deleteMode: 'purge' })
    // @ts-expect-error unknown hook
    db({ client, resolveScope, hooks: { onUploaded: () => undefined } })
    // @ts-expect-error unknown option
    db({ client, resolveScope, ttl: 5 })
  })

  it('types the arguments of hooks', () => {
    db({
      client,
      resolveScope,
      hooks: {
        onReserved: ({ object }) => expectTypeOf(object).toEqualTypeOf<StorageObject>(),
        onActivated: async (event) => {
          expectTypeOf(event).toEqualTypeOf<ActivatedEvent>()
          expectTypeOf(event.replaced).toEqualTypeOf<StorageObject | null>()
          expectTypeOf(event.request).toEqualTypeOf<Request | undefined>()
        },
        onDeleted: undefined,
      },
    })
  })

  it('has the writes of the store without the fields that it fills in', async () => {
    const files = db({ client, resolveScope })
    expectTypeOf(files).toExtend<DbContext>()
    expectTypeOf(files.id).toEqualTypeOf<'db'>()
    expectTypeOf(files.objects).toEqualTypeOf<StorageObjectStore>()
    expectTypeOf(files.handler).toEqualTypeOf<Handler>()
    expectTypeOf(await files.reserve(request, { key: 'a', declaredSize: 5 })).toEqualTypeOf<StorageObject>()
    expectTypeOf(await files.release(request, { key: 'a' })).toEqualTypeOf<StorageObject | null>()
    // @ts-expect-error the scope is that of the request
    await files.reserve(request, { key: 'a', declaredSize: 5, scope: 'user:2' })
    // @ts-expect-error the quota is that of the options
    await files.confirm(request, { key: 'a', size: 5, quota: {} })
    // @ts-expect-error the scope is that of the request
    await files.remove(request, { key: 'a', scope: 'user:2' })
    // @ts-expect-error the request comes first
    await files.release({ key: 'a' })
  })
})

describe('mayRead', () => {
  it('gets the object and its context, and returns a boolean or a promise of one', () => {
    db({
      client,
      resolveScope,
      mayRead(object, context) {
        expectTypeOf(object).toEqualTypeOf<StorageObject>()
        expectTypeOf(context.scope).toEqualTypeOf<string | null>()
        expectTypeOf(context.operation).toEqualTypeOf<'download' | 'file' | 'object'>()
        expectTypeOf(context.request).toEqualTypeOf<Request>()
        return true
      },
    })
    db({ client, resolveScope, mayRead: async () => false })
    db({ client, resolveScope, mayRead: null, usageEndpoint: null })
    // @ts-expect-error a truthy value is no permission
    db({ client, resolveScope, mayRead: () => 'yes' })
    // @ts-expect-error not a boolean
    db({ client, resolveScope, usageEndpoint: 'yes' })
  })
})

describe('a guard', () => {
  it('is a function that denies by throwing and may return anything', () => {
    expectTypeOf(() => undefined).toExtend<Guard>()
    expectTypeOf(async () => undefined).toExtend<Guard>()
    expectTypeOf(createObjectAccessGuard({ client, resolveScope })).toExtend<Guard>()
    expectTypeOf(createQuotaGuard({ client, resolveScope })).toExtend<Guard>()
    expectTypeOf(chainHooks(createQuotaGuard({ client, resolveScope }), undefined, null)).toExtend<Guard>()
  })

  it('for objects resolves to the row', () => {
    const guard = createObjectAccessGuard({ client, resolveScope, status: 'any', authorize: null })
    expectTypeOf(guard).returns.resolves.toEqualTypeOf<StorageObject>()
    // @ts-expect-error unknown status
    createObjectAccessGuard({ client, resolveScope, status: 'deleted' })
    // @ts-expect-error only true allows
    createObjectAccessGuard({ client, resolveScope, authorize: () => 'yes' })
    createObjectAccessGuard({
      client,
      resolveScope,
      authorize: async (object, context) => {
        expectTypeOf(object).toEqualTypeOf<StorageObject>()
        expectTypeOf(context.scope).toEqualTypeOf<string | null>()
        return true
      },
    })
  })

  it('for quotas accepts numbers', () => {
    createQuotaGuard({ client, resolveScope, maxBytes: 5, maxFiles: null })
    // @ts-expect-error a limit is a number
    createQuotaGuard({ client, resolveScope, maxBytes: '5' })
  })
})

describe('a store', () => {
  it('is created from a driver, or by memoryAdapter() without arguments', () => {
    expectTypeOf(createStore(driver)).toEqualTypeOf<StorageObjectStore>()
    expectTypeOf(memoryAdapter()).toEqualTypeOf<StorageObjectStore>()
    expectTypeOf(createAttemptId({ now: () => new Date() })).toEqualTypeOf<string>()
    // @ts-expect-error a clock returns a Date
    memoryAdapter({ now: () => Date.now() })
  })

  it('accepts seed records with at least scope, bucket and key', () => {
    memoryAdapter({ objects: [{ scope: 'user:1', bucket: 'photos', key: 'a.png' }] as const })
    memoryAdapter({
      objects: [{ scope: 'user:1', bucket: 'photos', key: 'a.png', size: 5, status: 'deleted' }],
    })
    // @ts-expect-error the key is required
    memoryAdapter({ objects: [{ scope: 'user:1', bucket: 'photos' }] })
    // @ts-expect-error unknown status
    memoryAdapter({ objects: [{ scope: 'user:1', bucket: 'photos', key: 'a.png', status: 'gone' }] })
  })

  it('requires complete outcomes from its driver', () => {
    const row = {} as StorageObject
    createStore({ ...driver, reserve: async () => ({ outcome: 'reserved', row, scopes: ['user:1'] }) })
    createStore({ ...driver, reserve: async () => ({ outcome: 'reserved', row }) })
    // @ts-expect-error a confirm says whether it repeats an earlier one
    createStore({ ...driver, confirm: async () => ({ outcome: 'confirmed', row, replaced: null }) })
    // @ts-expect-error unknown outcome
    createStore({ ...driver, reserve: async () => ({ outcome: 'refused' }) })
    // @ts-expect-error confirm has no such outcome
    createStore({ ...driver, confirm: async () => null })
  })
})

describe('an endpoint of a plugin', () => {
  const run = async () => ({ status: 204 }) as const
  const time = { method: 'GET', path: '/time', operation: 'time', run } as const

  it('describes its parameters and responses', () => {
    const describe = () =>
      ({ summary: 'Nothing.', answer: { status: 204, description: 'None.' }, errors: [] }) as const
    const described: InstalledPlugin = { context: {}, endpoints: [{ ...time, describe }] }
    // @ts-expect-error the API document needs a description
    const undescribed: InstalledPlugin = { context: {}, endpoints: [time] }
    // @ts-expect-error a response with a body needs a schema
    const answer: EndpointDescription['answer'] = { status: 200, description: 'Something.' }
    // @ts-expect-error unknown error code
    const errors: EndpointDescription['errors'] = ['TEAPOT']
    expectTypeOf([described, undescribed, answer, errors]).toBeArray()
  })
})
