import { beforeEach, describe, expect, it } from 'vitest'
import { createStore } from '@svc/db'
import { memoryAdapter, type SeedObject } from '@svc/db/memory'
import { encodeCursor } from '../../../../src/core/store/cursor.js'
import { idNumber } from '../rows.js'
import { NOON } from '../settable-clock.js'
import { recordingDriver } from '../store/recording-driver.js'
import { requester, errorOf, listOf } from './db-requests.js'

const LIST = '/api/s3/db/objects'

function object(number: number, fields: Partial<SeedObject> = {}): SeedObject {
  return { scope: 'user:1', bucket: 'photos', key: `key ${number}`, id: idNumber(number), ...fields }
}

const objects: SeedObject[] = [
  ...Array.from({ length: 120 }, (_, index) => object(index + 1)),
  object(201, { status: 'pending', declaredSize: 5 }),
  object(202, { status: 'deleted', size: 6 }),
  object(203, { bucket: 'videos', route: 'avatars' }),
  object(301, { scope: 'user:2' }),
]

describe('GET /db/objects', () => {
  const ask = requester(memoryAdapter({ now: () => NOON, objects }))
  const keysOf = async (query: string, user?: string) =>
    listOf(await ask(LIST + query, user === undefined ? {} : { user })).objects.map(({ key }) => key)

  it('lists the 50 newest active objects of the caller, of all buckets', async () => {
    const response = await ask(LIST)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(Object.keys(listOf(response))).toEqual(['objects', 'nextCursor'])
    const keys = listOf(response).objects.map(({ key }) => key)
    expect(keys).toEqual(['key 203', ...Array.from({ length: 49 }, (_, index) => `key ${120 - index}`)])
  })

  it('pages to the end by its cursor', async () => {
    const seen: string[] = []
    let cursor = ''
    for (let pages = 0; pages < 10; pages++) {
      const { objects: page, nextCursor } = listOf(await ask(`${LIST}?limit=40${cursor}`))
      seen.push(...page.map(({ id }) => id))
      if (nextCursor === undefined) break
      cursor = `&cursor=${nextCursor}`
    }
    expect(seen).toHaveLength(121)
    expect(seen).toEqual([...new Set(seen)].sort().reverse())
  })

  it('has no nextCursor on its last page', async () => {
    expect(listOf(await ask(`${LIST}?status=deleted`))).not.toHaveProperty('nextCursor')
  })

  it('returns objects with client fields only', async () => {
    const secrets = {
      metadata: { secret: 'a' },
      eTag: 'etag',
      storageKey: 'stored/1',
      attemptId: idNumber(9),
      filename: 'me.png',
    }
    const known = requester(memoryAdapter({ now: () => NOON, objects: [object(1, { ...secrets, size: 7 })] }))
    expect((await known(LIST)).body).toStrictEqual({
      objects: [
        {
          id: idNumber(1),
          bucket: 'photos',
          key: 'key 1',
          status: 'active',
          createdAt: NOON.toISOString(),
          filename: 'me.png',
          size: 7,
        },
      ],
    })
  })

  it.each([
    ['active', 121],
    ['pending', 1],
    ['deleted', 1],
  ])('lists objects with the status %s', async (status, count) => {
    const { objects: found } = listOf(await ask(`${LIST}?status=${status}&limit=100`))
    expect(found).toHaveLength(Math.min(count, 100))
    expect(new Set(found.map((one) => one.status))).toEqual(new Set([status]))
  })

  it('lists the objects of exactly one route', async () => {
    expect(await keysOf('?route=avatars')).toEqual(['key 203'])
    expect(await keysOf('?route=avatar')).toEqual([])
    expect(await keysOf('?route=Avatars')).toEqual([])
  })

  it("returns only the caller's objects, whatever the parameters", async () => {
    expect(await keysOf('', 'user:2')).toEqual(['key 301'])
    expect(await keysOf('?scope=user:1', 'user:2')).toEqual(['key 301'])
    expect(await keysOf('', 'user:3')).toEqual([])
    const { nextCursor } = listOf(await ask(`${LIST}?limit=1`))
    expect(await keysOf(`?cursor=${nextCursor}`, 'user:2')).toEqual([])
    expect(await keysOf(`?cursor=${encodeCursor(idNumber(999))}`, 'user:2')).toEqual(['key 301'])
  })

  it.each(['1', '9', '10', '99', '100'])('accepts the limit %s', async (limit) => {
    expect(listOf(await ask(`${LIST}?limit=${limit}`)).objects).toHaveLength(Number(limit))
  })

  it.each([
    '101',
    '0',
    '05',
    '1.5',
    '1e1',
    '%2B5',
    '+5',
    '-1',
    '',
    '%20',
    '5%20',
    '0x5',
    '1000',
    'ten',
    '%D9%A5',
  ])('refuses the limit %j', async (limit) => {
    const response = await ask(`${LIST}?limit=${limit}`)
    expect(response.status).toBe(400)
    expect(errorOf(response)).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'limit' } })
    expect(errorOf(response).message).toContain('an integer from 1 to 100')
  })

  it.each(['', 'abc', `${encodeCursor(idNumber(1))}A`, encodeCursor(idNumber(1)).slice(1), idNumber(1)])(
    'refuses the cursor %j',
    async (cursor) => {
      const response = await ask(`${LIST}?cursor=${cursor}`)
      expect(response.status).toBe(400)
      expect(errorOf(response).code).toBe('INVALID_CURSOR')
    },
  )

  it.each([
    ['status', ''],
    ['status', 'all'],
    ['status', 'Active'],
    ['route', ''],
    ['route', 'a'.repeat(256)],
    ['route', '%00'],
    ['status', '%ff'],
    ['route', '%'],
    ['limit', '%zz'],
    ['cursor', '%ed%a0%80'],
  ])('refuses %s=%s', async (name, value) => {
    const response = await ask(`${LIST}?${name}=${value}`)
    expect(response.status).toBe(400)
    expect(errorOf(response)).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: name } })
  })

  it.each(['status=active', 'limit=5', 'route=avatars', `cursor=${encodeCursor(idNumber(1))}`])(
    'refuses a repeated parameter: %s',
    async (parameter) => {
      const response = await ask(`${LIST}?${parameter}&${parameter}`)
      expect(response.status).toBe(400)
      const field = parameter.split('=')[0]
      expect(errorOf(response)).toMatchObject({ code: 'VALIDATION_ERROR', params: { field } })
    },
  )

  it('ignores unknown parameters', async () => {
    expect(await keysOf('?limit=1&a=1&a=2&%ff=%ff&Limit=500&__proto__=x')).toEqual(['key 203'])
  })

  it('returns 401 without a signed-in user, even for invalid input', async () => {
    for (const query of ['', '?limit=101', '?cursor=', '?limit=%ff']) {
      const response = await ask(LIST + query, { user: null })
      expect(response.status).toBe(401)
      expect(errorOf(response).code).toBe('UNAUTHORIZED')
    }
  })
})

describe('the store calls of GET /db/objects', () => {
  let calls: readonly unknown[]
  let ask: ReturnType<typeof requester>

  beforeEach(() => {
    const recording = recordingDriver({ list: [] })
    calls = recording.calls
    ask = requester(createStore(recording.driver))
  })

  it('are one page of the scope', async () => {
    await ask(`${LIST}?status=deleted&limit=7&route=avatars&cursor=${encodeCursor(idNumber(1))}`)
    const filter = { scope: 'user:1', statuses: ['deleted'], route: 'avatars' }
    const input = { ...filter, before: idNumber(1), limit: 8, withMetadata: false, fromPrimary: false }
    expect(calls).toEqual([{ method: 'list', args: [input] }])
  })

  it('are none if the input is invalid or no user is signed in', async () => {
    const bad = ['?limit=0', '?status=', '?route=', '?cursor=', '?cursor=abc', '?limit=1&limit=1']
    for (const query of bad) expect((await ask(LIST + query)).status).toBe(400)
    expect((await ask(LIST, { user: null })).status).toBe(401)
    expect((await ask(LIST, { method: 'POST' })).status).toBe(405)
    expect(calls).toEqual([])
  })
})
