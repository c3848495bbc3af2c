import { fastify } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { fastifyBinding } from '@svc/db/fastify'
import { honoBinding } from '@svc/db/hono'
import { koaBinding } from '@svc/db/koa'
import type { RequestListener } from 'node:http'
import { describe } from 'vitest'
import { listenerOf as fastifyListener } from '../fastify/versions.js'
import { listenerOf as honoListener } from '../hono/listener.js'
import { listenerOf as koaListener } from '../koa/versions.js'
import { serveByHandlerAlone } from './bare-node-server.js'
import { describeCheckedDoors } from './checked-doors.js'
import type { Served } from './fixture.js'
import { listenForFile } from './listen-for-file.js'

const BINDINGS: Readonly<Record<string, (served: Served) => RequestListener>> = {
  Koa: (served) => koaListener(new Koa().use(koaBinding(served))),
  Hono: (served) => honoListener(new Hono().use(honoBinding(served))),
  Fastify(served) {
    const app = fastify()
    void app.register(fastifyBinding(served))
    return fastifyListener(app)
  },
}

describe.each(Object.entries(BINDINGS))('the doors to bytes that are checked, in %s', (_name, listenerOf) => {
  describeCheckedDoors(async (s3) => (await listenForFile(listenerOf(s3))) + s3.basePath)
})

describe('the doors to bytes that are checked, by the handler alone', () => {
  describeCheckedDoors(serveByHandlerAlone)
})
