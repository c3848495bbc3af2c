import { PassThrough, pipeline } from 'node:stream'
import express from 'express'
import { fastifyBinding, type FastifyPlugin } from '@svc/db/fastify'
import type { Way } from '../http-table/describe-http-table.js'
import { listenerOf, type App, type FastifyVersion } from './versions.js'

function way(
  how: string,
  mount: (app: App, binding: FastifyPlugin) => unknown,
  prefix = '',
): Way<FastifyVersion> {
  return {
    how,
    prefix,
    appOf(served, { fastify }) {
      const app: App = fastify()
      mount(app, fastifyBinding(served))
      return listenerOf(app)
    },
  }
}

/** The ways to mount the binding in an application. */
export const ways: readonly Way<FastifyVersion>[] = [
  way('app.register(b)', (app, b) => app.register(b)),
  way(
    'prefixes',
    (app, b) =>
      app.register(async (v1) => void (await v1.register(b, { prefix: '/api/s3' })), { prefix: '/v1' }),
    '/v1',
  ),
  way('parsers of the application', (app, b) => {
    app.addContentTypeParser(/.*/, { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.register(b)
  }),
  way('express.json() in a hook', (app, b) => {
    const parse = express.json()
    app.addHook('onRequest', ({ raw }, reply, done) => parse(raw, reply.raw, done))
    app.register(b)
  }),
  way('a hook that replaces the stream', (app, b) => {
    app.addHook('preParsing', async (_request, _reply, payload) =>
      pipeline(payload, new PassThrough(), () => undefined),
    )
    app.register(b)
  }),
]
