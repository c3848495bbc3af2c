import { describe, expect, it } from 'vitest'
import { StorageError, type MetadataContext, type ObjectMetadata, type UploadRoute } from '@svc/db'
import * as inParts from './multipart/in-parts.js'
import { errorOf, startService, type Caller, type Service } from './service.js'

const VERBS: readonly (readonly [
  string,
  (caller: Caller, input: Record<string, unknown>) => Promise<Response>,
])[] = [
  ['POST /upload', (caller, input) => caller.begin(input)],
  ['POST /multipart', (caller, input) => inParts.begin(caller, input)],
]

/** Returns the metadata of the only reservation of a scope. */
async function storedMetadata({ objects }: Service, scope = 'user:1'): Promise<ObjectMetadata | null> {
  const { objects: rows } = await objects.listByScope({ scope })
  expect(rows.length).toBe(1)
  return rows[0]!.metadata
}

describe.each(VERBS)('metadata in %s', (_verb, begin) => {
  function serviceWith(metadata: UploadRoute['metadata']) {
    return startService({ routes: { docs: { metadata } } })
  }

  it.each([undefined, null])('comes from the client if the route option is %s', async (option) => {
    const service = serviceWith(option)
    expect((await begin(service.as('user:1'), { metadata: { public: 'yes' } })).status).toBe(201)
    expect(await storedMetadata(service)).toEqual({ public: 'yes' })
  })

  it.each([{ public: 'yes' }, {}, 7, []])('false refuses %j and reserves nothing', async (metadata) => {
    const service = serviceWith(false)
    const error = await errorOf(await begin(service.as('user:1'), { metadata }))
    expect(error).toMatchObject({ status: 400, code: 'VALIDATION_ERROR', params: { field: 'metadata' } })
    expect(await service.objects.countByScope('user:1')).toBe(0)
  })

  it.each([{ metadata: null }, {}])('false accepts an upload without metadata: %j', async (input) => {
    const service = serviceWith(false)
    expect((await begin(service.as('user:1'), input)).status).toBe(201)
    expect(await storedMetadata(service)).toBeNull()
  })

  it('is what a function returns, which knows what was sent, the request and the scope', async () => {
    const calls: (readonly [ObjectMetadata | null, MetadataContext])[] = []
    const service = serviceWith((given, context) => {
      calls.push([given, context])
      return { album: given?.['album'] ?? 'none', owner: context.scope }
    })
    expect((await begin(service.as('user:1'), { metadata: { album: 'sea', owner: 'user:2' } })).status).toBe(
      201,
    )
    expect(await storedMetadata(service)).toEqual({ album: 'sea', owner: 'user:1' })
    const [given, { request, scope }] = calls[0]!
    expect([given, scope, request.method, calls.length]).toEqual([
      { album: 'sea', owner: 'user:2' },
      'user:1',
      'POST',
      1,
    ])
  })

  it.each([{}, { metadata: null }])('is null for the function if none was sent: %j', async (input) => {
    const service = serviceWith((given) => ({ given: JSON.stringify(given) }))
    expect((await begin(service.as('user:1'), input)).status).toBe(201)
    expect(await storedMetadata(service)).toEqual({ given: 'null' })
  })

  it.each([null, {}])('can be %j', async (result) => {
    const service = serviceWith(async () => Promise.resolve(result))
    expect((await begin(service.as('user:1'), { metadata: { public: 'yes' } })).status).toBe(201)
    expect(await storedMetadata(service)).toEqual(result)
  })

  it('is validated before the function gets it', async () => {
    let calls = 0
    const service = serviceWith(() => {
      calls++
      return null
    })
    const error = await errorOf(await begin(service.as('user:1'), { metadata: { size: 3 } }))
    expect([error.code, error.params, calls]).toEqual(['VALIDATION_ERROR', { field: 'metadata' }, 0])
  })

  it('keeps the code of a StorageError that the function throws', async () => {
    const service = serviceWith(async () => {
      await Promise.resolve()
      throw new StorageError('FORBIDDEN', { message: 'Albums are for members.' })
    })
    const error = await errorOf(await begin(service.as('user:1'), {}))
    expect(error).toMatchObject({ status: 403, code: 'FORBIDDEN', message: 'Albums are for members.' })
    expect(service.reported).toEqual([])
  })

  it('is an INTERNAL_ERROR if the function throws anything else', async () => {
    const failure = new Error('albums.internal is down')
    const service = serviceWith(() => Promise.reject(failure))
    const error = await errorOf(await begin(service.as('user:1'), {}))
    expect(error).toMatchObject({ status: 500, code: 'INTERNAL_ERROR' })
    expect(JSON.stringify(error)).not.toContain('albums.internal')
    expect(service.reported.map((entry) => entry.error)).toEqual([failure])
    expect(await service.objects.countByScope('user:1')).toBe(0)
  })

  it.each([
    ['undefined', undefined],
    ['an array', []],
    ['a number as a value', { size: 3 }],
    ['too many entries', Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`n${index}`, '']))],
    ['more than 16 KiB', { text: 'x'.repeat(16 * 1024) }],
    ['NUL characters', { text: '\0' }],
  ])('is an INTERNAL_ERROR if the function returns %s', async (_, result) => {
    const service = serviceWith(() => result as unknown as ObjectMetadata)
    const error = await errorOf(await begin(service.as('user:1'), { metadata: { public: 'yes' } }))
    expect([error.code, error.params]).toEqual(['INTERNAL_ERROR', undefined])
    expect(service.reported.map((entry) => entry.error)).toEqual([
      expect.objectContaining({
        code: 'INTERNAL_ERROR',
        message: expect.stringMatching(
          /^The metadata function of the upload route "docs" .*: metadata must /,
        ) as string,
      }),
    ])
    expect(await service.objects.countByScope('user:1')).toBe(0)
  })

  it('is not asked of the function for a refused upload', async () => {
    let calls = 0
    const metadata = () => {
      calls++
      return null
    }
    const service = startService({ routes: { docs: { maxFileSize: 2, metadata } } })
    expect((await begin(service.as('user:1'), {})).status).toBe(413)
    expect((await begin(service.as(null), {})).status).toBe(401)
    expect(calls).toBe(0)
  })
})

it('of s3.db.reserve is not changed by the option of the route', async () => {
  const service = startService({ routes: { docs: { metadata: false } } })
  const request = service.as('user:1').request('POST', '/import')
  const input = { key: 'a', declaredSize: 1, route: 'docs', metadata: { scanned: 'no' } }
  expect((await service.s3.db.reserve(request, input)).metadata).toEqual({ scanned: 'no' })
})
