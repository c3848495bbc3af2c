import { createGunzip, gzipSync, type Gunzip } from 'node:zlib'
import { fastify } from 'fastify'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { fastifyBinding } from '@svc/db/fastify'
import { memoryAdapter } from '@svc/db/memory'
import { expect, it } from 'vitest'
import { until } from '../bindings/deferred.js'
import { listenWith, type App } from './versions.js'

const UPLOAD = { filename: 'a.txt', contentType: 'text/plain', size: 1 }

/** An application with a hook that decompresses bodies. */
function decompressingApp(): App {
  const s3 = createS3Server({
    storage: memoryStorage({ baseURL: 'https://files.example' }),
    bucket: 'files',
    plugins: [db({ client: memoryAdapter(), resolveScope: ({ headers }) => headers.get('x-scope') })],
  })
  const app: App = fastify()
  const streams = new WeakMap<object, Gunzip>()
  app.addHook('preParsing', (request, _reply, payload, done) => {
    delete request.headers['content-length']
    const stream = payload.pipe(createGunzip())
    streams.set(request, stream)
    done(null, stream)
  })
  // Not by an event, because a listener would also handle the error.
  app.addHook('preHandler', async (request) => {
    const stream = streams.get(request)!
    await until(() => stream.readableLength > 0 || stream.closed)
  })
  app.register(fastifyBinding(s3))
  return app
}

it('refuses a derived body that fails before it is read', async () => {
  const { url } = await listenWith(decompressingApp())
  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
    fetch(`${url}/api/s3/upload`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
  const zipped = new Uint8Array(gzipSync(JSON.stringify(UPLOAD)))
  expect((await post(zipped, { 'x-scope': 'user:1' })).status).toBe(201)
  expect((await post('not zipped', {})).status).toBe(401)
  const refused = await post('not zipped', { 'x-scope': 'user:1' })
  expect(await refused.json()).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'body' } })
})
