import {
  createS3Server,
  db,
  memoryStorage,
  StorageError,
  type GuardContext,
  type S3ServerOptions,
} from '@svc/db'
import { beforeAll, describe, expect, it } from 'vitest'
import { errorOf, exchange } from './exchange.js'
import { openInMemory, scopeOf, type OpenStore, type Serve } from './fixture.js'

function serverWith(open: OpenStore, options: Pick<S3ServerOptions, 'routes' | 'upload'>) {
  return createS3Server({
    ...options,
    storage: memoryStorage(),
    bucket: 'files',
    onError: () => undefined,
    plugins: [db({ client: open('nothing'), resolveScope: scopeOf })],
  })
}

/** Says in its refusal what it knows. */
function notHeld({ replaces, multipart, filename = '', metadata }: GuardContext) {
  if (filename === 'secret') throw Object.assign(new Error('no'), { statusCode: 404 })
  if (replaces?.metadata?.['held'] !== 'yes') return
  throw new StorageError('FORBIDDEN', { params: { multipart: multipart === true, filename, ...metadata } })
}

/** One user has a plan without a limit, and the plan of another one is broken. */
function sizeOfPlan(scope: string, request?: Request) {
  const sizes: Readonly<Record<string, number | null>> = { 'user:paid': null, 'user:broken': -1 }
  return scope in sizes ? sizes[scope]! : (request?.url.length ?? 0) > 0 ? 10 : 100
}

const FILE = { filename: 'a.png', contentType: 'image/png', size: 3 }
const STARTS = ['/upload', '/multipart']

/** Tests what the application decides about uploads: the routes, guards and limits. */
export function describeUploadRoutes(serve: Serve, open = openInMemory): void {
  describe('upload routes', () => {
    const s3 = serverWith(open, {
      routes: {
        reports: { key: ({ filename }) => filename, overwrite: true, maxFileSize: sizeOfPlan },
        thumbnails: { http: false },
      },
      upload: { guard: notHeld },
    })
    let baseURL: string
    beforeAll(async () => {
      baseURL = await serve(s3)
    })
    const begin = (path: string, json: object, as = 'user:1') =>
      exchange(baseURL, { request: `POST ${path}`, as, json: { ...FILE, ...json } })

    it.each(STARTS)('that are closed to HTTP are unknown to POST %s', async (path) => {
      expect((await begin(path, { route: 'thumbnails' })).json).toEqual(errorOf('VALIDATION_ERROR', 'route'))
      expect((await begin(path, {})).json).toMatchObject({ object: { route: 'reports' } })
      const thumbnail = { route: 'thumbnails', key: `${path}.thumbnail`, body: 'abc' }
      await s3.files.put({ scope: 'user:1', ...thumbnail })
      const listed = await exchange(baseURL, { request: 'GET /db/objects?route=thumbnails&limit=1' })
      expect(listed.json).toMatchObject({ objects: [{ key: thumbnail.key }] })
    })

    it.each(STARTS)('have a guard for POST %s that knows what it would replace', async (path) => {
      const held = { key: `held${path}`, metadata: { held: 'yes' }, body: 'abc' }
      await s3.files.put({ scope: 'user:1', route: 'reports', ...held })
      const refused = await begin(path, { filename: held.key, metadata: { by: 'ann' } })
      expect(refused).toMatchObject({
        status: 403,
        json: { params: { multipart: path === '/multipart', filename: held.key, by: 'ann' } },
      })
      expect((await begin(path, { filename: 'secret' })).json).toEqual(errorOf('OBJECT_NOT_FOUND'))
      expect((await begin(path, { filename: `free${path}` })).status).toBe(201)
    })

    it.each(STARTS)('limit the size of a file by its owner in POST %s', async (path) => {
      const file = { filename: `large${path}`, size: 11 }
      const refused = { status: 413, json: { code: 'FILE_TOO_LARGE', params: { max: 10, size: 11 } } }
      expect(await begin(path, file)).toMatchObject(refused)
      expect((await begin(path, file, 'user:broken')).json).toEqual(errorOf('INTERNAL_ERROR'))
      expect((await begin(path, file, 'user:paid')).status).toBe(201)
    })

    it('tell their rules to each owner, except those that are closed', async () => {
      const rulesOf = (as: string | null) => exchange(baseURL, { request: 'GET /upload/rules', as })
      const rules = (maxFileSize: number | null) => ({
        routes: { reports: { maxFileSize, contentTypes: null, multipart: true } },
      })
      expect(await rulesOf('user:1')).toMatchObject({ status: 200, json: rules(10) })
      expect((await rulesOf('user:paid')).json).toEqual(rules(null))
      expect((await rulesOf('user:broken')).json).toEqual(errorOf('INTERNAL_ERROR'))
      expect((await rulesOf(null)).status).toBe(401)
    })
  })
}
