import { describe, expect, it } from 'vitest'
import { db, type DbOptions } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'

const GOOD: DbOptions = { client: memoryAdapter(), resolveScope: () => 'user:1' }
const make = (options: unknown) => () => db({ ...GOOD, ...(options as Partial<DbOptions>) })

describe('db()', () => {
  it('accepts only a client and resolveScope', () => {
    expect(db(GOOD)).toMatchObject({ id: 'db', basePath: '/api/s3', objects: GOOD.client })
  })

  it('accepts all options at their limits', () => {
    const hooks = { onReserved: () => undefined, onActivated: undefined }
    expect(
      make({
        quota: { maxBytes: 0, maxFiles: Number.MAX_SAFE_INTEGER },
        pendingTtlSeconds: 1,
        deleteMode: 'hard',
        mayRead: () => false,
        usageEndpoint: true,
        bucket: 'b'.repeat(255),
        basePath: '/',
        hooks,
        onError: () => undefined,
        now: () => new Date(),
      }),
    ).not.toThrow()
  })

  it('accepts null for every optional option', () => {
    const none = { quota: null, pendingTtlSeconds: null, deleteMode: null, bucket: null, basePath: null }
    const hooks = { onReserved: null, onActivated: null, onDeleted: null }
    expect(make({ mayRead: null, usageEndpoint: null })).not.toThrow()
    const plugin = db({ ...GOOD, ...none, hooks, onError: null, now: null })
    expect(plugin.basePath).toBe('/api/s3')
    expect(make({ hooks: null })).not.toThrow()
  })

  it.each([
    { quota: null },
    { quota: undefined },
    { quota: {} },
    { quota: () => null },
    { pendingTtlSeconds: undefined },
    { deleteMode: undefined },
    { bucket: undefined },
    { basePath: undefined },
    { hooks: undefined },
    { onError: undefined },
    { now: undefined },
  ])('accepts %o', (options) => {
    expect(make(options)).not.toThrow()
  })

  it.each<[string, unknown[], string]>([
    ['client', [undefined, null, {}, 5, () => GOOD.client], 'a store'],
    ['resolveScope', [undefined, null, 'user:1', {}], 'a function'],
    ['quota', [5, '5', [], true], 'must be an object { maxBytes?, maxFiles? }'],
    [
      'quota',
      [{ maxBytes: -1 }, { maxBytes: 1.5 }, { maxBytes: '5' }, { maxBytes: NaN }],
      'quota.maxBytes must',
    ],
    ['quota', [{ maxFiles: -1 }, { maxFiles: Infinity }, { maxFiles: {} }], 'quota.maxFiles must'],
    ['pendingTtlSeconds', [0, -1, 1.5, NaN, Infinity, '60'], 'a positive integer'],
    ['deleteMode', ['', 'Soft', 'purge', 5], '"soft" or "hard"'],
    ['mayRead', [true, 'all', {}], 'a function'],
    ['usageEndpoint', ['yes', 1, {}], 'true or false'],
    ['bucket', ['', 5, 'b'.repeat(256), 'a\0'], 'a string of 1 to 255 characters'],
    ['basePath', ['api', 5, '/a?b'], 'a path such as "/api/s3"'],
  ])('throws a TypeError for an invalid %s', (name, values, allowed) => {
    for (const value of values) {
      expect(make({ [name]: value })).toThrow(TypeError)
      expect(make({ [name]: value })).toThrow(/^db\(\): /)
      expect(make({ [name]: value })).toThrow(name)
      if (value !== 'a\0') expect(make({ [name]: value })).toThrow(allowed)
    }
  })

  it.each(['onReserved', 'onActivated', 'onDeleted'])(
    'throws a TypeError for a hook that is not a function: %s',
    (hook) => {
      expect(make({ hooks: { [hook]: 'log' } })).toThrow(TypeError)
      expect(make({ hooks: { [hook]: 'log' } })).toThrow(`hooks.${hook} must be a function`)
    },
  )
})
