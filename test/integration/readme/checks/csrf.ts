import { createServer } from 'node:http'
import { serve } from '@hono/node-server'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { createS3Client } from '@svc/db/client'
import { expressBinding } from '@svc/db/express'
import { fastifyBinding } from '@svc/db/fastify'
import { honoBinding } from '@svc/db/hono'
import { koaBinding } from '@svc/db/koa'
import { memoryAdapter } from '@svc/db/memory'
import type { Express } from 'express'
import type { FastifyInstance } from 'fastify'
import type { Hono } from 'hono'
import type Koa from 'koa'
import { expect, onTestFinished } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'

const s3 = createS3Server({
  storage: memoryStorage(),
  bucket: 'uploads',
  plugins: [db({ client: memoryAdapter(), resolveScope: () => 'user:ann' })],
})

/** Uploads a text with the headers of API calls, which the signed URL doesn't get. */
async function upload(origin: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const { api } = createS3Client({ baseURL: origin, headers, plugins: [] })
  await api.upload(new File(['hello'], 'hello.txt', { type: 'text/plain' }))
}

async function demandsToken(origin: string): Promise<void> {
  await expect(upload(origin, {})).rejects.toMatchObject({ status: 403, path: '/upload' })
  await upload(origin, { 'x-csrf-token': 'the token of the session' })
}

const onExpress: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Express }>(program)
  await demandsToken(await originOf(app.use(expressBinding(s3)).listen(0)))
}

const onKoa: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Koa }>(program)
  await demandsToken(await originOf(app.use(koaBinding(s3)).listen(0)))
}

const onFastify: SnippetCheck = async (program) => {
  const { app } = await run<{ app: FastifyInstance }>(program)
  onTestFinished(() => app.close())
  await app.register(fastifyBinding(s3)).listen()
  await demandsToken(await originOf(app.server))
}

const onHono: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Hono }>(program)
  const { fetch: handle } = app.use(honoBinding(s3)).post('/form', (c) => c.text('sent'))
  // Overriding them would affect the other tests in this process.
  const server = serve({ fetch: handle, port: 0, createServer, overrideGlobalObjects: false })
  const origin = await originOf(server as ReturnType<typeof createServer>)
  await upload(origin, {})
  const form = { method: 'POST', body: new URLSearchParams('a=1') }
  expect((await fetch(`${origin}/form`, form)).status).toBe(403)
  expect((await fetch(`${origin}/form`, { ...form, headers: { origin } })).status).toBe(200)
}

export const csrfChecks: SnippetChecks = {
  'docs/express.md#csrf-express.ts': onExpress,
  'docs/koa.md#csrf-koa.ts': onKoa,
  'docs/fastify.md#csrf-fastify.ts': onFastify,
  'docs/hono.md#csrf-hono.ts': onHono,
}
