import cookie from '@fastify/cookie'
import session from '@fastify/session'
import express from 'express'
import { fastifyBinding, fastifyRequest, fetchRequest } from '@svc/db/fastify'
import { forAnyVersion, listenWith, versions, type App, type Fastify } from '../fastify/versions.js'
import type { Served } from '../http-table/fixture.js'
import type { AppOptions, Framework, FrameworkApp, OwnRoute, Step } from './framework.js'
import type { Listening } from './listening.js'

declare module 'fastify' {
  interface Session {
    account?: string
  }
}

export const fastifyFrameworks: readonly Framework[] = versions.map(({ name, fastify }) => ({
  name,
  app: (options) => new FastifyApp(fastify, options),
  sessionOf: (request) => fastifyRequest(request).session,
  headerOf: (request, header) => fastifyRequest(request).headers[header]?.toString() ?? '',
  forwarded: 'last',
  refusesMalformedPaths: true,
}))

class FastifyApp implements FrameworkApp {
  readonly errors: unknown[] = []
  readonly #app: App
  #rewrite = (target: string) => target
  #ignoresErrors = false
  #isBound = false

  constructor(fastify: Fastify, { trustsProxy }: AppOptions = {}) {
    const app: App = fastify({
      ...(trustsProxy !== undefined && { trustProxy: trustsProxy }),
      rewriteUrl: ({ url }) => this.#rewrite(url!),
      // Fastify only logs errors after the start of the response.
      logger: {
        level: 'warn',
        stream: { write: () => undefined },
        serializers: {
          err: (error: Error) => {
            this.errors.push(error)
            return { type: error.name, message: error.message, stack: '' }
          },
        },
      },
    })
    this.#app = app
    this.#app.setErrorHandler(async (error, _request, reply) => {
      this.errors.push(error)
      if (this.#ignoresErrors) return reply.hijack()
      return reply.code(500).send('by the application')
    })
  }

  use(step: Step): this {
    this.#app.addHook('onRequest', (request, reply, done) => step(request.raw, reply.raw, () => done()))
    return this
  }

  useRewrite(rewrite: (target: string) => string): this {
    this.#rewrite = rewrite
    return this
  }

  useWork(work: (request: Request) => Promise<void>): this {
    this.#app.addHook('onRequest', async (request, reply) => work(fetchRequest(request, reply)))
    return this
  }

  /** Adds the parser of Express in a hook, which applies to all routes. Fastify itself parses JSON for its own routes. */
  useJsonParser(moreTypes: readonly string[] = []): this {
    if (this.#isBound) return this
    const parse = express.json({ type: ['application/json', ...moreTypes] })
    this.#app.addHook('onRequest', (request, reply, done) => parse(request.raw, reply.raw, done))
    return this
  }

  useSessions(): this {
    this.#app.register(forAnyVersion(cookie))
    this.#app.register(forAnyVersion(session), {
      secret: 'a secret with at least 32 characters',
      cookieName: 'connect.sid',
      cookie: { secure: false },
      saveUninitialized: false,
    })
    return this
  }

  bind(served: Served, path = ''): this {
    this.#isBound = true
    this.#app.register(fastifyBinding(served), { prefix: path })
    return this
  }

  route(run: OwnRoute): this {
    this.#app.register(async (app) => {
      app.removeAllContentTypeParsers()
      app.addContentTypeParser('*', (_request, _payload, done) => done(null))
      app.all('*', (request, reply) => {
        reply.hijack()
        run(fetchRequest(request, reply), reply.raw, request.raw)
      })
    })
    return this
  }

  routeOfParsedBody(): this {
    this.#app.all('*', async ({ body }) => body)
    return this
  }

  listen({ ignoreErrors = false } = {}): Promise<Listening> {
    this.#ignoresErrors = ignoreErrors
    return listenWith(this.#app)
  }
}
