import express, { type ErrorRequestHandler } from 'express'
import session from 'express-session'
import { expressBinding, expressRequest, fetchRequest } from '@svc/db/express'
import type { Served } from '../http-table/fixture.js'
import type { AppOptions, Framework, FrameworkApp, OwnRoute, Step } from './framework.js'
import { listen, type Listening } from './listening.js'

declare module 'express-session' {
  interface SessionData {
    account?: string
  }
}

export const expressFramework: Framework = {
  name: 'Express 5',
  app: (options) => new ExpressApp(options),
  async load() {
    const {
      expressBinding: binding,
      fetchRequest,
      expressRequest: ownRequest,
    } = await import('@svc/db/express')
    return { binding, fetchRequest, ownRequest }
  },
  sessionOf: (request) => expressRequest(request).session,
  forwarded: 'first',
  refusesMalformedPaths: false,
}

class ExpressApp implements FrameworkApp {
  readonly errors: unknown[] = []
  readonly #app = express()

  constructor({ trustsProxy }: AppOptions = {}) {
    if (trustsProxy !== undefined) this.#app.set('trust proxy', trustsProxy)
  }

  use(step: Step): this {
    this.#app.use((req, res, next) => step(req, res, next))
    return this
  }

  useRewrite(rewrite: (target: string) => string): this {
    return this.use((message, _response, proceed) => {
      message.url = rewrite(message.url!)
      proceed()
    })
  }

  useWork(work: (request: Request) => Promise<void>): this {
    this.#app.use((req, _res, next) => void work(fetchRequest(req)).then(() => next(), next))
    return this
  }

  useJsonParser(moreTypes: readonly string[] = []): this {
    this.#app.use(express.json({ type: ['application/json', ...moreTypes] }))
    return this
  }

  useSessions(): this {
    this.#app.use(session({ secret: 'test', resave: false, saveUninitialized: false }))
    return this
  }

  bind(served: Served, path = '/'): this {
    this.#app.use(path, expressBinding(served))
    return this
  }

  route(run: OwnRoute): this {
    this.#app.use((req, res) => run(fetchRequest(req), res, req))
    return this
  }

  routeOfParsedBody(): this {
    this.#app.use((req, res) => void res.json(req.body))
    return this
  }

  listen({ ignoreErrors = false } = {}): Promise<Listening> {
    const report: ErrorRequestHandler = (error, _req, res, next) => {
      this.errors.push(error)
      if (ignoreErrors) return
      if (res.headersSent) return next(error)
      res.status(500).send('by the application')
    }
    return listen(this.#app.use(report))
  }
}
