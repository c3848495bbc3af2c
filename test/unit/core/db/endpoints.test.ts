import { describe, expect, it, vi } from 'vitest'
import type { DbOptions, ListByScopeInput } from '@svc/db'
import { memoryAdapter, type SeedObject } from '@svc/db/memory'
import { idNumber } from '../rows.js'
import { NOON } from '../settable-clock.js'
import { requester, errorOf, listOf } from './db-requests.js'

// The HTTP table tests the endpoints as clients meet them. These are the options of `db()`, and rows that it doesn't have.

const LIST = '/api/s3/db/objects'
const GET = '/api/s3/db/object'
const USAGE = '/api/s3/db/usage'

function object(number: number, fields: Partial<SeedObject> = {}): SeedObject {
  return { scope: 'user:1', bucket: 'photos', key: `key ${number}`, id: idNumber(number), ...fields }
}

describe('GET /db/objects', () => {
  const objects = Array.from({ length: 120 }, (_, index) => object(index + 1))
  const client = memoryAdapter({ now: () => NOON, objects })
  const ask = requester(client)

  it('lists the 50 newest objects by default', async () => {
    const keys = listOf(await ask(LIST)).objects.map(({ key }) => key)
    expect(keys).toEqual(Array.from({ length: 50 }, (_, index) => `key ${120 - index}`))
  })

  it.each([1, 9, 10, 99, 100])('accepts the limit %i', async (limit) => {
    expect(listOf(await ask(`${LIST}?limit=${limit}`)).objects).toHaveLength(limit)
  })

  it('reads one page without metadata, which clients never get', async () => {
    const listByScope = vi.fn((input: ListByScopeInput) => client.listByScope(input))
    await requester({ ...client, listByScope })(`${LIST}?limit=7`)
    expect(listByScope.mock.calls).toMatchObject([[{ scope: 'user:1', limit: 7, withMetadata: false }]])
    const visibleMetadata: string[] = []
    await requester({ ...client, listByScope }, { visibleMetadata })(LIST)
    expect(listByScope.mock.lastCall).toMatchObject([{ withMetadata: false }])
  })
})

describe('GET /db/object', () => {
  const client = memoryAdapter({
    now: () => NOON,
    objects: [
      object(1),
      object(2, { status: 'pending', uploadId: 'upload' }),
      object(3, { key: 'key 1', status: 'pending' }),
      object(4, { bucket: 'videos' }),
      object(5, { status: 'deleted' }),
      object(6, { scope: 'user:2' }),
      object(7, { scope: 'user:2', status: 'pending' }),
    ],
  })
  const ask = requester(client)

  it.each([1, 2, 3, 4])('finds live objects by id, in any bucket: %i', async (number) => {
    const { status, body } = await ask(`${GET}?id=${idNumber(number)}`)
    expect({ status, body }).toMatchObject({ status: 200, body: { object: { id: idNumber(number) } } })
  })

  it('requires a bucket if the plugin has none', async () => {
    const askWithout = requester(client, { bucket: undefined })
    const refusal = await askWithout(`${GET}?key=key%201`)
    expect(errorOf(refusal)).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'bucket' } })
    expect((await askWithout(`${GET}?key=key%201&bucket=photos`)).status).toBe(200)
  })
})

describe('GET /db/usage', () => {
  const usage = { bytes: 5, files: 1, reservedBytes: 0, reservedFiles: 0 }
  const client = memoryAdapter({ objects: [object(1, { size: 5 })] })
  const ask = (options: Partial<DbOptions>) => requester(client, { usageEndpoint: true, ...options })(USAGE)

  it.each<[DbOptions['quota'], object]>([
    [{ maxBytes: null, maxFiles: undefined }, {}],
    [{ maxBytes: 0 }, { maxBytes: 0 }],
    [() => null, {}],
    [async (scope) => ({ maxFiles: scope === 'user:1' ? 3 : 4 }), { maxFiles: 3 }],
  ])('returns the limits that there are: %o', async (quota, limits) => {
    expect((await ask({ quota })).body).toEqual({ usage, quota: limits })
  })
})

describe('visibleMetadata', () => {
  const hidden = JSON.parse('{"__proto__":"p","album":"Summer","secret":"s","":"e"}') as Record<
    string,
    string
  >
  const client = memoryAdapter({
    now: () => NOON,
    objects: [object(1, { metadata: hidden }), object(2, { metadata: { secret: 's' } }), object(3)],
  })
  const visibleMetadata = ['album', 'uploader', '__proto__', 'toString', '']
  const shown = JSON.parse('{"__proto__":"p","album":"Summer","":"e"}') as Record<string, string>

  it('shows these names and no others, and nothing of an object that has none', async () => {
    const ask = requester(client, { visibleMetadata, update: true })
    const { objects } = listOf(await ask(LIST))
    expect(objects.map(({ metadata }) => metadata)).toEqual([undefined, undefined, shown])
    expect(objects.filter((each) => 'metadata' in each)).toHaveLength(1)
    expect((await ask(`${GET}?key=key+1`)).body).toMatchObject({ object: { metadata: shown } })
    expect((await ask(`${GET}?key=key+2`)).body).not.toHaveProperty('object.metadata')
  })

  it('is absent without the option', async () => {
    const ask = requester(client)
    expect((await ask(`${GET}?key=key+1`)).body).not.toHaveProperty('object.metadata')
    expect(listOf(await ask(LIST)).objects.some((each) => 'metadata' in each)).toBe(false)
  })
})
