import { createServer } from 'node:http'
import cors from '@fastify/cors'
import { serve } from '@hono/node-server'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { fastifyBinding } from '@svc/db/fastify'
import { honoBinding } from '@svc/db/hono'
import { koaBinding } from '@svc/db/koa'
import { memoryAdapter } from '@svc/db/memory'
import type { Express } from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import type { Hono } from 'hono'
import type Koa from 'koa'
import { expect, onTestFinished } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'

const PAGE = 'https://app.example.com'

const serverOfAnn = () =>
  createS3Server({
    storage: memoryStorage(),
    bucket: 'uploads',
    plugins: [db({ client: memoryAdapter(), resolveScope: () => 'user:ann' })],
  })

/** Returns the methods that a page on another origin may use at an address, with cookies and a custom header. */
async function allowedMethods(url: string): Promise<string[]> {
  const allowed: string[] = []
  for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
    const headers = {
      origin: PAGE,
      'access-control-request-method': method,
      'access-control-request-headers': 'content-type,x-amz-meta-attempt-id',
    }
    const preflight = await fetch(url, { method: 'OPTIONS', headers })
    const values = (name: string) => preflight.headers.get(`access-control-allow-${name}`) ?? ''
    if (values('methods').split(/, */).includes(method)) allowed.push(method)
    expect([preflight.ok, values('origin'), values('credentials')]).toEqual([true, PAGE, 'true'])
    expect(values('headers').split(/, */)).toContain('x-amz-meta-attempt-id')
  }
  return allowed
}

async function allowsPage(origin: string): Promise<void> {
  expect(await allowedMethods(`${origin}/api/s3/object`)).toEqual(['GET', 'POST', 'PUT', 'DELETE'])
  const list = await fetch(`${origin}/api/s3/db/objects`, { headers: { origin: PAGE } })
  const { headers } = list
  expect([list.status, headers.get('access-control-allow-origin')]).toEqual([200, PAGE])
  expect(headers.get('access-control-allow-credentials')).toBe('true')
  expect(headers.get('access-control-expose-headers')).toBe('Retry-After')
}

const onExpress: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Express }>(program)
  await allowsPage(await originOf(app.use(expressBinding(serverOfAnn())).listen(0)))
}

const onKoa: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Koa }>(program)
  await allowsPage(await originOf(app.use(koaBinding(serverOfAnn())).listen(0)))
}

const onFastify: SnippetCheck = async (program) => {
  const { app } = await run<{ app: FastifyInstance }>(program)
  const byDefault = fastify()
  await byDefault.register(cors, { origin: PAGE, credentials: true })
  for (const each of [app, byDefault]) {
    onTestFinished(() => each.close())
    await each.register(fastifyBinding(serverOfAnn())).listen()
  }
  await allowsPage(await originOf(app.server))
  expect(await allowedMethods(`${await originOf(byDefault.server)}/api/s3/object`)).toEqual(['GET', 'POST'])
}

const onHono: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Hono }>(program)
  const { fetch } = app.use(honoBinding(serverOfAnn()))
  // Overriding them would affect the other tests in this process.
  const server = serve({ fetch, port: 0, createServer, overrideGlobalObjects: false })
  await allowsPage(await originOf(server as ReturnType<typeof createServer>))
}

const showsPictures: SnippetCheck = async (program) => {
  const { app } = await run<{ app: Express }>(program)
  const origin = await originOf(app.use(expressBinding(serverOfAnn())).listen(0))
  const { headers } = await fetch(`${origin}/api/s3/file?key=a`)
  expect(headers.get('cross-origin-resource-policy')).toBe('same-site')
}

export const frontEndsChecks: SnippetChecks = {
  'docs/front-ends.md#cors-express.ts': onExpress,
  'docs/front-ends.md#cors-koa.ts': onKoa,
  'docs/front-ends.md#cors-fastify.ts': onFastify,
  'docs/front-ends.md#cors-hono.ts': onHono,
  'docs/front-ends.md#helmet.ts': showsPictures,
}
