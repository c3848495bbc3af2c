import type { ErrorRequestHandler, RequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { createObjectAccessGuard, createQuotaGuard, db, StorageError } from '@svc/db'
import { expressBinding, expressRequest, fetchRequest } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { listen } from '../bindings/listening.js'
import { versions } from './versions.js'

const objects = [
  { scope: 'user:ann', bucket: 'files', key: 'ann.txt', size: 10 },
  { scope: 'user:bob', bucket: 'files', key: 'bob.txt', size: 10 },
]

const toClient: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (!(error instanceof StorageError)) return next(error)
  res.status(error.status).json({ code: error.code })
}

describe.each(versions)('routes of the application in $name', ({ express }) => {
  /** Express 4 doesn't wait for promises. */
  const route =
    (run: (...parameters: Parameters<RequestHandler>) => Promise<unknown>): RequestHandler =>
    (req, res, next) => {
      run(req, res, next).catch(next)
    }

  const resolveScope = (request: Request) => {
    const name = expressRequest(request).get('x-name')
    return name === undefined ? null : `user:${name}`
  }

  it('are guarded by ownership', async () => {
    const guard = createObjectAccessGuard({ client: memoryAdapter({ objects }), resolveScope })
    const app = express().use(express.json())
    app.get(
      '/files/:key',
      route(async (req, res) => {
        const { key, size } = await guard({
          request: fetchRequest(req),
          bucket: 'files',
          key: String(req.params['key']),
        })
        res.json({ key, size })
      }),
    )
    const { url } = await listen(app.use(toClient))
    const ask = async (key: string, headers: Record<string, string>) => {
      const response = await fetch(`${url}/files/${key}`, { headers })
      return [response.status, (await response.json()) as unknown]
    }

    expect(await ask('ann.txt', { 'x-name': 'ann' })).toEqual([200, { key: 'ann.txt', size: 10 }])
    expect(await ask('ann.txt', { 'x-name': 'bob' })).toEqual([404, { code: 'OBJECT_NOT_FOUND' }])
    expect(await ask('none.txt', { 'x-name': 'bob' })).toEqual([404, { code: 'OBJECT_NOT_FOUND' }])
    expect(await ask('ann.txt', {})).toEqual([401, { code: 'UNAUTHORIZED' }])
  })

  it('are guarded by quota, and may read the body afterwards', async () => {
    const guard = createQuotaGuard({ client: memoryAdapter({ objects }), resolveScope, maxBytes: 20 })
    const app = express()
    app.post(
      '/files',
      route(async (req, _res, next) => {
        const size = Number(req.get('content-length'))
        await guard({ request: fetchRequest(req), bucket: 'files', key: 'new.txt', size })
        next()
      }),
      express.text(),
      (req, res) => void res.json(req.body),
    )
    const { url } = await listen(app.use(toClient))
    const post = async (body: string) => {
      const headers = { 'x-name': 'ann', 'content-type': 'text/plain' }
      const response = await fetch(`${url}/files`, { method: 'POST', headers, body })
      return (await response.json()) as unknown
    }

    expect(await post('0123456789')).toBe('0123456789')
    expect(await post('0123456789x')).toEqual({ code: 'QUOTA_EXCEEDED' })
  })

  it('write through db() on behalf of the request', async () => {
    const plugin = db({ client: memoryAdapter({ objects }), resolveScope, bucket: 'files' })
    const app = express().post(
      '/files/:key',
      route(async (req, res) => {
        const { scope, key } = await plugin.reserve(fetchRequest(req), {
          key: String(req.params['key']),
          declaredSize: 5,
        })
        res.json({ scope, key })
      }),
    )
    const { url } = await listen(app.use(expressBinding(plugin)))
    const headers = { 'x-name': 'ann' }

    const response = await fetch(`${url}/files/new.txt`, { method: 'POST', headers })

    expect(await response.json()).toEqual({ scope: 'user:ann', key: 'new.txt' })
    const listed = await fetch(`${url}/api/s3/db/objects?status=pending`, { headers })
    expect(await listed.json()).toMatchObject({ objects: [{ key: 'new.txt', declaredSize: 5 }] })
  })
})
