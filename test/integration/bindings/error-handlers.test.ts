import express from 'express'
import { fastify } from 'fastify'
import Koa from 'koa'
import { expect, it } from 'vitest'
import { StorageError } from '@svc/db'
import { listenWith as listenWithFastify } from '../fastify/versions.js'
import { listenWith as listenWithKoa } from '../koa/versions.js'
import { listen } from './listening.js'

/** An application route that fails as guards do, or as a store does whose database is away. */
function fail(path: string): never {
  if (path === '/denied') throw new StorageError('FORBIDDEN')
  throw new StorageError('DATABASE_UNAVAILABLE', { message: 'The connection to db-1.internal was lost.' })
}

const applications = {
  Express: () => {
    const app = express().use((req) => fail(req.path))
    // Otherwise, the default handler prints the errors and sends their stacks.
    return listen(app.set('env', 'test'))
  },
  Koa: () => {
    const app = new Koa().use(({ path }) => fail(path))
    app.silent = true
    return listenWithKoa(app)
  },
  Fastify: () => listenWithFastify(fastify().get('*', async ({ url }) => fail(url))),
}

it.each(['Express', 'Koa', 'Fastify'] as const)(
  'errors of the library have their status in %s, without a handler of the application',
  async (name) => {
    const { url } = await applications[name]()
    expect((await fetch(`${url}/denied`)).status).toBe(403)
    const away = await fetch(`${url}/away`)
    expect(away.status).toBe(503)
    // Koa respects `expose`.
    if (name === 'Koa') expect(await away.text()).not.toContain('db-1.internal')
  },
)
