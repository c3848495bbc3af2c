import { fastify } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { fastifyBinding } from '@svc/db/fastify'
import { honoBinding } from '@svc/db/hono'
import { koaBinding } from '@svc/db/koa'
import type { RequestListener } from 'node:http'
import { listenerOf as fastifyListener } from '../fastify/versions.js'
import { listenerOf as honoListener } from '../hono/listener.js'
import { listenerOf as koaListener } from '../koa/versions.js'
import { serveByHandlerAlone } from './bare-node-server.js'
import type { Serve, Served } from './fixture.js'
import { listenForFile } from './listen-for-file.js'

const serving =
  (listenerOf: (served: Served) => RequestListener): Serve =>
  async (served) =>
    (await listenForFile(listenerOf(served))) + served.basePath

/** Servers whose whole table is a long run, because that of Express and Fastify runs in `npm test`. */
export const KOA_AND_HONO = {
  'in Koa': serving((served) => {
    const app = new Koa().use(koaBinding(served))
    app.silent = true
    return koaListener(app)
  }),
  'in Hono': serving((served) => honoListener(new Hono().use(honoBinding(served)))),
}

/** All servers but Express, whose tables run in `npm test`. */
export const OTHER_SERVERS: Readonly<Record<string, Serve>> = {
  ...KOA_AND_HONO,
  'in Fastify': serving((served) => {
    const app = fastify()
    void app.register(fastifyBinding(served))
    return fastifyListener(app)
  }),
  'by the handler alone': serveByHandlerAlone,
}
