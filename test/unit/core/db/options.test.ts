import { describe, expect, it } from 'vitest'
import { db, type DbOptions } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'

const GOOD: DbOptions = { client: memoryAdapter(), resolveScope: () => 'user:1' }
const make = (options: unknown) => () => db({ ...GOOD, ...(options as Partial<DbOptions>) })
const OPTIONAL = [
  ...['quota', 'pendingTtlSeconds', 'deleteMode', 'mayRead', 'usageEndpoint', 'bucket'],
  ...['update', 'visibleMetadata'],
  ...['basePath', 'hooks', 'onError', 'now'],
]

describe('db()', () => {
  it('accepts null and undefined for every optional option', () => {
    for (const value of [null, undefined]) {
      const none = Object.fromEntries(OPTIONAL.map((name) => [name, value]))
      expect(make(none)()).toMatchObject({ id: 'db', basePath: '/api/s3', objects: GOOD.client })
      expect(make({ hooks: { onReserved: value, onActivated: value, onDeleted: value } })).not.toThrow()
    }
  })

  it('serves its endpoints below its base path', async () => {
    const { basePath, handler } = make({ basePath: '/files/' })()
    const at = async (path: string) =>
      (await handler(new Request(`http://localhost${path}/db/objects`))).status
    expect([basePath, await at('/files'), await at('/api/s3')]).toEqual(['/files', 200, 404])
  })

  it.each<[string, unknown[], string]>([
    ['client', [undefined, null, {}, 5, () => GOOD.client], 'client must be a store'],
    ['resolveScope', [undefined, null, 'user:1', {}], 'resolveScope must be a function'],
    ['quota', [5, '5', [], true], 'quota must be an object { maxBytes?, maxFiles? }'],
    ['quota', [{ maxBytes: -1 }, { maxBytes: '5' }, { maxBytes: NaN }], 'quota.maxBytes must'],
    ['quota', [{ maxFiles: 1.5 }, { maxFiles: Infinity }, { maxFiles: {} }], 'quota.maxFiles must'],
    ['pendingTtlSeconds', [0, -1, 1.5, NaN, Infinity, '60'], 'a positive integer'],
    ['deleteMode', ['', 'Soft', 'purge', 5], '"soft" or "hard"'],
    ['mayRead', [true, 'all', {}], 'mayRead must be a function'],
    ['usageEndpoint', ['yes', 1, {}], 'true or false'],
    ['update', ['yes', 1, []], 'update must be'],
    ['update', [{ fields: [] }], 'update.fields must have at least one field'],
    ['update', [{ fields: 'filename' }], 'update.fields must be an array'],
    [
      'update',
      [{ fields: ['size'] }, { fields: [null] }],
      'must be "filename" or "metadata" or "contentType"',
    ],
    ['update', [{ guard: true }], 'update.guard must be a function'],
    ['update', [{ field: ['filename'] }], 'unknown option "update.field". Did you mean "update.fields"?'],
    ['visibleMetadata', ['album', {}], 'visibleMetadata must be an array'],
    ['visibleMetadata', [['album', 5]], 'visibleMetadata[1] must be a string'],
    ['bucket', ['', 5, 'b'.repeat(256)], 'a string of 1 to 255 characters'],
    ['bucket', ['a\0'], 'bucket must not contain a NUL character'],
    ['basePath', ['api', 5, '/a?b'], 'a path such as "/api/s3"'],
    ['hooks', [{ onReserved: 'log' }], 'hooks.onReserved must be a function'],
    ['hooks', [{ onActivated: 'log' }], 'hooks.onActivated must be a function'],
    ['hooks', [{ onDeleted: 'log' }], 'hooks.onDeleted must be a function'],
  ])('throws a TypeError for an invalid %s: %j', (name, values, allowed) => {
    for (const value of values) {
      expect(make({ [name]: value })).toThrow(TypeError)
      expect(make({ [name]: value })).toThrow(/^db: /)
      expect(make({ [name]: value })).toThrow(name)
      expect(make({ [name]: value })).toThrow(allowed)
    }
  })
})
