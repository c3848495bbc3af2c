import type { ErrorRequestHandler } from 'express'
import session from 'express-session'
import { expressBinding, expressRequest, fetchRequest } from '@svc/db/express'
import { versions, type Express } from '../express/versions.js'
import type { Served } from '../http-table/fixture.js'
import type { AppOptions, Framework, FrameworkApp, OwnRoute, Step } from './framework.js'
import { listen, type Listening } from './listening.js'

declare module 'express-session' {
  interface SessionData {
    account?: string
  }
}

export const expressFrameworks: readonly Framework[] = versions.map(({ name, express }) => ({
  name,
  app: (options) => new ExpressApp(express, options),
  sessionOf: (request) => expressRequest(request).session,
  headerOf: (request, header) => expressRequest(request).get(header) ?? '',
  forwarded: 'first',
  refusesMalformedPaths: false,
}))

class ExpressApp implements FrameworkApp {
  readonly errors: unknown[] = []
  readonly #app
  readonly #express

  constructor(express: Express, { trustsProxy }: AppOptions = {}) {
    this.#express = express
    this.#app = express()
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
    this.#app.use(this.#express.json({ type: ['application/json', ...moreTypes] }))
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
