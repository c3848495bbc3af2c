import { createS3Server, db, memoryStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { beforeAll, describe, expect, it } from 'vitest'
import { errorOf, exchange } from './exchange.js'
import { scopeOf, type Serve } from './fixture.js'

function serverWithRoutes() {
  return createS3Server({
    storage: memoryStorage(),
    bucket: 'files',
    routes: { photos: {}, thumbnails: { http: false } },
    plugins: [db({ client: memoryAdapter(), resolveScope: scopeOf })],
  })
}

const FILE = { filename: 'a.png', contentType: 'image/png', size: 3 }

/** Tests what the application decides about uploads: the routes, guards and limits. */
export function describeUploadRoutes(serve: Serve): void {
  describe('upload routes', () => {
    const s3 = serverWithRoutes()
    let baseURL: string
    beforeAll(async () => {
      baseURL = await serve(s3)
    })
    const begin = (json: object, path = '/upload') =>
      exchange(baseURL, { request: `POST ${path}`, json: { ...FILE, ...json } })

    it.each(['/upload', '/multipart'])('that are closed to HTTP are unknown to POST %s', async (path) => {
      expect((await begin({ route: 'thumbnails' }, path)).json).toEqual(errorOf('VALIDATION_ERROR', 'route'))
      expect((await begin({}, path)).json).toMatchObject({ object: { route: 'photos' } })
      const thumbnail = { route: 'thumbnails', key: `${path}.thumbnail`, body: 'abc' }
      await s3.files.put({ scope: 'user:1', ...thumbnail })
      const listed = await exchange(baseURL, { request: 'GET /db/objects?route=thumbnails&limit=1' })
      expect(listed.json).toMatchObject({ objects: [{ key: thumbnail.key }] })
    })
  })
}
