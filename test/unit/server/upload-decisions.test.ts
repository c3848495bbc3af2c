import { StorageError, type UploadRoute } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { begun, uploads } from './doors.js'
import { errorOf, startService } from './service.js'

/** What decides on an upload before it is reserved: guards, the quota function, and the metadata of its route. */
describe.each(uploads)('$name', (upload) => {
  const { begin, operations } = upload
  const guardOption = operations[0]

  describe('and its guards', () => {
    it('run in order, between the validation and the reservation, and know the upload', async () => {
      const seen: unknown[] = []
      const guard = (name: string) => (context: { request: Request }) => {
        const { request, ...rest } = context
        seen.push([name, new URL(request.url).pathname, rest])
      }
      const { as, objects } = startService({
        [guardOption]: { guard: guard('operation') },
        routes: { docs: { bucket: 'docs', guard: guard('route') } },
      })
      const { object } = await begun(upload, as('user:1'))
      const context = {
        ...{ bucket: 'docs', key: object.key, scope: 'user:1', route: 'docs', size: 3 },
        ...{ filename: 'a.txt', contentType: 'text/plain', metadata: null },
        ...{ multipart: guardOption === 'multipart', replaces: null, waiting: false },
      }
      const path = `/api/s3/${guardOption}`
      expect(seen).toEqual([
        ['operation', path, context],
        ['route', path, context],
      ])
      expect((await begin(as('user:1'), { size: -1 })).status).toBe(400)
      expect((await begin(as(null))).status).toBe(401)
      expect(seen).toHaveLength(2)
      expect(await objects.countByScope('user:1')).toBe(1)
    })

    it('deny by throwing, which ends the request and is reported', async () => {
      const never = () => expect.unreachable()
      const denial = new Error('card expired')
      const service = startService({
        [guardOption]: { guard: () => Promise.reject(denial) },
        routes: { docs: { guard: never } },
        quota: never,
      })
      const message = 'You do not have permission to do this.'
      expect(await errorOf(await begin(service.as('user:1')))).toEqual({
        status: 403,
        code: 'FORBIDDEN',
        message,
      })
      expect(await service.objects.countByScope('user:1')).toBe(0)
      expect(await service.reportedBy(guardOption)).toEqual([denial])
    })
  })

  describe('and its quota function', () => {
    it('knows the scope and the request', async () => {
      const seen: string[] = []
      const { as } = startService({
        quota: async (scope, request) => {
          seen.push(`${scope} ${new URL(request!.url).pathname}`)
          return scope === 'user:1' ? { maxFiles: 0 } : null
        },
      })
      expect((await begin(as('user:1'))).status).toBe(413)
      expect((await begin(as('user:2'))).status).toBe(201)
      expect(seen).toEqual([`user:1 /api/s3/${guardOption}`, `user:2 /api/s3/${guardOption}`])
    })
  })

  describe('and the metadata of its route', () => {
    const SENT = { album: 'sea', owner: 'user:2' }
    const serviceWith = (metadata: UploadRoute['metadata']) =>
      startService({ routes: { docs: { metadata } } })
    async function stored(metadata: UploadRoute['metadata'], given: unknown) {
      const { as, objects } = serviceWith(metadata)
      const { object } = await begun(upload, as('user:1'), { metadata: given })
      return (await objects.findPending(object))!.metadata
    }

    it('is what the client sent, by default', async () => {
      for (const option of [undefined, null]) expect(await stored(option, SENT)).toEqual(SENT)
    })

    it('false refuses any metadata', async () => {
      for (const given of [null, undefined]) expect(await stored(false, given)).toBeNull()
      for (const metadata of [SENT, {}, 7, []]) {
        const { as, objects } = serviceWith(false)
        const response = await errorOf(await begin(as('user:1'), { metadata }))
        expect(response).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'metadata' } })
        expect(await objects.countByScope('user:1')).toBe(0)
      }
    })

    it('is what the function returns, which knows what was sent, the request and the scope', async () => {
      const option: UploadRoute['metadata'] = async (given, { request, scope }) =>
        Promise.resolve({ given: JSON.stringify(given), scope, method: request.method })
      const built = { scope: 'user:1', method: 'POST' }
      expect(await stored(option, SENT)).toEqual({ ...built, given: JSON.stringify(SENT) })
      for (const none of [null, undefined])
        expect(await stored(option, none)).toEqual({ ...built, given: 'null' })
      for (const result of [null, {}]) expect(await stored(() => result, SENT)).toEqual(result)
    })

    it('is not asked of the function for a refused upload', async () => {
      const metadata = () => expect.unreachable()
      const { as } = startService({ routes: { docs: { maxFileSize: 3, metadata } } })
      expect((await begin(as('user:1'), { metadata: { size: 3 } })).status).toBe(400)
      expect((await begin(as('user:1'), { size: 4 })).status).toBe(413)
      expect((await begin(as(null))).status).toBe(401)
    })

    it('keeps the code of a StorageError that the function throws, and hides other errors', async () => {
      const forbidden = new StorageError('FORBIDDEN', { message: 'Albums are for members.' })
      const known = serviceWith(() => Promise.reject(forbidden))
      const refused = await errorOf(await begin(known.as('user:1')))
      expect(refused).toMatchObject({ status: 403, message: 'Albums are for members.' })
      expect(known.reported).toEqual([])

      const failure = new Error('albums.internal is down')
      const { as, objects, reported } = serviceWith(() => Promise.reject(failure))
      const hidden = { status: 500, code: 'INTERNAL_ERROR', message: 'Something went wrong.' }
      expect(await errorOf(await begin(as('user:1')))).toEqual(hidden)
      expect(reported.map(({ error }) => error)).toEqual([failure])
      expect(await objects.countByScope('user:1')).toBe(0)
    })

    it.each([undefined, [], { size: 3 }, { text: 'x'.repeat(16 * 1024) }, { text: '\0' }])(
      'is an INTERNAL_ERROR if the function returns invalid metadata: %#',
      async (result) => {
        const { as, objects, reported } = serviceWith(() => result as never)
        const { code, params } = await errorOf(await begin(as('user:1')))
        expect([code, params]).toEqual(['INTERNAL_ERROR', undefined])
        const message = /^The metadata function of the upload route "docs" .*: metadata must /
        expect(reported).toMatchObject([
          { error: { code, message: expect.stringMatching(message) as string } },
        ])
        expect(await objects.countByScope('user:1')).toBe(0)
      },
    )
  })
})
