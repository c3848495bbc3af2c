import type { ErrorRequestHandler } from 'express'
import fastify5 from 'fastify'
import fastify4 from 'fastify4'
import { expect, it, onTestFinished } from 'vitest'
import { chainHooks, createObjectAccessGuard, createQuotaGuard, StorageError } from '@svc/db'
import { fetchRequest as expressFetchRequest } from '@svc/db/express'
import { fetchRequest as koaFetchRequest } from '@svc/db/koa'
import { memoryAdapter } from '@svc/db/memory'
import { versions as expressVersions } from '../express/versions.js'
import { listenWith, versions as koaVersions } from '../koa/versions.js'
import { listen } from './listening.js'

const bucket = 'files'
const client = memoryAdapter({
  objects: [
    { scope: 'ann', bucket, key: 'small.txt', size: 10 },
    { scope: 'ann', bucket, key: 'large.txt', size: 90 },
  ],
})
const resolveScope = (request: Request) => request.headers.get('x-name')
const OPERATOR_MESSAGE = 'The connection to db-1.internal was lost.'

const mayCopy = chainHooks(
  createObjectAccessGuard({ client, resolveScope }),
  createQuotaGuard({ client, resolveScope, maxBytes: 120 }),
)

/** A route of an application. Rejects as the guards do, or as a store does whose database is away. */
async function copy(request: Request): Promise<string> {
  if (request.headers.has('x-database-away')) {
    throw new StorageError('DATABASE_UNAVAILABLE', { message: OPERATOR_MESSAGE })
  }
  const key = new URL(request.url).searchParams.get('key') ?? ''
  await mayCopy({ request, bucket, key, size: key === 'large.txt' ? 90 : 10 })
  return 'copied'
}

const NEST_LIKE: ErrorRequestHandler = (thrown, _req, res, _next) => {
  // As the exception filter of Nest decides: an error with a statusCode and a message is an HTTP error.
  const error = thrown as { readonly statusCode?: number; readonly message?: string }
  const status = error.statusCode && error.message ? error.statusCode : 500
  res.status(status).json({ message: error.message })
}

const HTTP_ERRORS_LIKE: ErrorRequestHandler = (thrown, _req, res, _next) => {
  const { statusCode, expose, message } = thrown as StorageError
  res.status(statusCode).send(expose ? message : 'Internal Server Error')
}

const applications: Readonly<Record<string, () => Promise<string>>> = {
  ...Object.fromEntries(
    expressVersions.flatMap(({ name, express }) =>
      Object.entries({
        'default handler': null,
        'Nest-like handler': NEST_LIKE,
        expose: HTTP_ERRORS_LIKE,
      }).map(([handlerName, handler]) => [
        `${name}, ${handlerName}`,
        async () => {
          const app = express()
          // Otherwise, the default handler prints the errors and sends their stacks.
          app.set('env', 'test')
          app.get('/copy', (req, res, next) => {
            copy(expressFetchRequest(req)).then((text) => void res.send(text), next)
          })
          if (handler) app.use(handler)
          return (await listen(app)).url
        },
      ]),
    ),
  ),
  ...Object.fromEntries(
    koaVersions.flatMap(({ name, Koa }) =>
      [true, false].map((isDefault) => [
        `${name}, ${isDefault ? 'default handler' : 'own handler'}`,
        async () => {
          const app = new Koa()
          app.silent = true
          if (!isDefault) {
            app.use(async (ctx, next) => {
              try {
                await next()
              } catch (thrown) {
                const { statusCode, expose, message } = thrown as StorageError
                ctx.status = statusCode
                ctx.body = expose ? message : 'Internal Server Error'
              }
            })
          }
          app.use(async (ctx) => {
            ctx.body = await copy(koaFetchRequest(ctx))
          })
          return (await listenWith(app)).url
        },
      ]),
    ),
  ),
  ...Object.fromEntries(
    Object.entries({ 'Fastify 4': fastify4, 'Fastify 5': fastify5 }).map(([name, fastify]) => [
      `${name}, default handler`,
      async () => {
        const app = (fastify as typeof fastify5)()
        onTestFinished(() => app.close())
        app.get('/copy', ({ url, headers }) => {
          const given = Object.entries(headers).map(
            ([header, value]) => [header, String(value)] as [string, string],
          )
          return copy(new Request(`http://app.test${url}`, { headers: given }))
        })
        return app.listen({ port: 0, host: '127.0.0.1' })
      },
    ]),
  ),
}

const names = Object.keys(applications)

it.each(names)('the errors of guards have their status in %s', async (name) => {
  const url = await applications[name]!()
  const statusOf = async (key: string, headers: Readonly<Record<string, string>>) =>
    (await fetch(`${url}/copy?key=${key}`, { headers })).status

  expect(await statusOf('small.txt', { 'x-name': 'ann' })).toBe(200)
  expect(await statusOf('', { 'x-name': 'ann' })).toBe(400)
  expect(await statusOf('small.txt', {})).toBe(401)
  expect(await statusOf('small.txt', { 'x-name': 'bob' })).toBe(404)
  expect(await statusOf('large.txt', { 'x-name': 'ann' })).toBe(413)
  expect(await statusOf('small.txt', { 'x-database-away': 'yes' })).toBe(503)
})

const respectExpose = names.filter((name) => name.startsWith('Koa') || name.endsWith('expose'))

it.each(respectExpose)('the message of a 5xx is hidden in %s', async (name) => {
  const url = await applications[name]!()
  const bodyOf = async (headers: Readonly<Record<string, string>>) =>
    (await fetch(`${url}/copy?key=small.txt`, { headers })).text()

  expect(await bodyOf({ 'x-name': 'bob' })).toBe(new StorageError('OBJECT_NOT_FOUND').message)
  expect(await bodyOf({ 'x-database-away': 'yes' })).not.toContain('db-1.internal')
})
