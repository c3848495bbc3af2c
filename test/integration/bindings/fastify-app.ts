import cookie from '@fastify/cookie'
import session from '@fastify/session'
import express from 'express'
import { fastify } from 'fastify'
import { fastifyBinding, fastifyRequest, fetchRequest } from '@svc/db/fastify'
import { listenWith, type App } from '../fastify/versions.js'
import type { Served } from '../http-table/fixture.js'
import type { AppOptions, Framework, FrameworkApp, OwnRoute, Step } from './framework.js'
import type { Listening } from './listening.js'

declare module 'fastify' {
  interface Session {
    account?: string
  }
}

export const fastifyFramework: Framework = {
  name: 'Fastify 5',
  app: (options) => new FastifyApp(options),
  async load() {
    const {
      fastifyBinding: binding,
      fetchRequest,
      fastifyRequest: ownRequest,
    } = await import('@svc/db/fastify')
    return { binding, fetchRequest, ownRequest }
  },
  sessionOf: (request) => fastifyRequest(request).session,
  forwarded: 'last',
  refusesMalformedPaths: true,
}

class FastifyApp implements FrameworkApp {
  readonly errors: unknown[] = []
  readonly #app: App
  #rewrite = (target: string) => target
  #ignoresErrors = false
  #isBound = false

  constructor({ trustsProxy }: AppOptions = {}) {
    this.#app = fastify({
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
    this.#app.register(cookie)
    this.#app.register(session, {
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
