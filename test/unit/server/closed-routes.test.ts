import { openApiDocument } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { documentValidator } from '../../integration/openapi/document-validator.js'
import { begun, uploads } from './doors.js'
import { bytesOfSize, errorOf, startService } from './service.js'

const routes = { photos: { metadata: false }, thumbnails: { http: false, metadata: false } } as const

const put = ({ s3 }: ReturnType<typeof startService>, route?: string) =>
  s3.files.put({ scope: 'user:1', filename: 'a.txt', body: bytesOfSize(3), ...(route && { route }) })

describe.each(uploads)('$name and a route with http: false', ({ begin, ...upload }) => {
  it('responds as to an unknown route, without a word about the closed one', async () => {
    const { as, objects } = startService({ routes })
    for (const route of ['thumbnails', 'films']) {
      expect(await errorOf(await begin(as('user:1'), { route }))).toEqual({
        status: 400,
        code: 'VALIDATION_ERROR',
        message: `route must be the name of an upload route (got "${route}").`,
        params: { field: 'route' },
      })
    }
    expect(await objects.countByScope('user:1')).toBe(0)
  })

  it('needs no route where exactly one is open', async () => {
    const one = startService({ routes })
    expect((await begun({ begin, ...upload }, one.as('user:1'))).object.route).toBe('photos')
    const two = startService({ routes: { ...routes, films: {} } })
    expect(await errorOf(await begin(two.as('user:1')))).toMatchObject({
      message: 'route must be set, because the server has more than one upload route.',
    })
  })

  it('refuses every upload if all routes are closed', async () => {
    const service = startService({ routes: { thumbnails: { http: false } } })
    for (const route of [undefined, null, 'thumbnails', 7]) {
      const error = { code: 'VALIDATION_ERROR', params: { field: 'route' } }
      expect(await errorOf(await begin(service.as('user:1'), { route }))).toMatchObject(error)
    }
    expect(await put(service)).toMatchObject({ route: 'thumbnails', status: 'active' })
  })
})

describe('a route with http: false', () => {
  it('stores files of the server, which their owner lists, reads and deletes', async () => {
    const service = startService({ routes })
    const ann = service.as('user:1')
    const { key } = await put(service, 'thumbnails')
    const listed = (await (await ann.send('GET', '/db/objects?route=thumbnails')).json()) as object
    expect(listed).toMatchObject({ objects: [{ key, route: 'thumbnails' }] })
    expect(await ann.bytes(key)).toEqual(bytesOfSize(3))
    expect((await ann.delete(key)).status).toBe(204)
  })

  it('counts as one for files.put without a route', async () => {
    await expect(put(startService({ routes }))).rejects.toMatchObject({ params: { field: 'route' } })
  })

  it('lets an upload end that began while the route was open', async () => {
    const open = startService({ routes: { photos: {} } })
    const { object, upload } = await open.as('user:1').begun()
    const { objects, clock, storage } = open
    const closed = startService({
      ...{ routes: { photos: { http: false } }, objects, clock, storage: () => storage },
    })
    await open.as('user:1').put(upload, bytesOfSize(3))
    expect((await closed.as('user:1').confirm(object)).status).toBe(200)
  })

  it('is not in the OpenAPI document', () => {
    const document = openApiDocument(startService({ routes }).s3)
    expect(JSON.stringify(document)).not.toContain('thumbnails')
    const body = { filename: 'a.txt', contentType: 'text/plain', size: 3 }
    const validator = documentValidator(document)
    const accepts = (sent: object) => validator.acceptsBody('/upload', sent)
    expect([body, { ...body, route: 'photos' }].map(accepts)).toEqual([true, true])
    expect(accepts({ ...body, route: 'thumbnails' })).toBe(false)
    // Only refused routes are open, so the document says so of the server.
    expect(accepts({ ...body, metadata: { a: 'b' } })).toBe(false)
  })

  it('leaves no valid upload in the OpenAPI document if all routes are closed', () => {
    const document = openApiDocument(startService({ routes: { thumbnails: { http: false } } }).s3)
    const body = { filename: 'a.txt', contentType: 'text/plain', size: 3 }
    for (const path of ['/upload', '/multipart']) {
      for (const route of [undefined, null, 'thumbnails']) {
        expect(documentValidator(document).acceptsBody(path, { ...body, route })).toBe(false)
      }
    }
  })
})
