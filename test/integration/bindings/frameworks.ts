import type { IncomingMessage, ServerResponse } from 'node:http'
import { bodyParser } from '@koa/bodyparser'
import type { ErrorRequestHandler } from 'express'
import mount from 'koa-mount'
import { expressBinding, fetchRequest as expressFetchRequest } from '@svc/db/express'
import { fetchRequest as koaFetchRequest, koaBinding } from '@svc/db/koa'
import { versions as expressVersions, type Express } from '../express/versions.js'
import type { Served } from '../http-table/fixture.js'
import { listenWith, versions as koaVersions, type Koa } from '../koa/versions.js'
import { listen, type Listening } from './listening.js'

/** A middleware in the terms of Node: it answers, or proceeds to the next one. */
export type Step = (message: IncomingMessage, response: ServerResponse, proceed: () => void) => void

/** A route of the application's own, which answers by itself. */
export type OwnRoute = (request: Request, response: ServerResponse, message: IncomingMessage) => void

/** An application of any framework, as far as every binding must work with it. */
export interface FrameworkApp {
  /** What the application was told of as an error. */
  readonly errors: readonly unknown[]
  use(step: Step): this
  useJsonParser(): this
  /** The library, below `path` where there is one. */
  bind(served: Served, path?: string): this
  /** At every path; it gets what `fetchRequest` made. */
  route(run: OwnRoute): this
  /**
   * Until the test is over. The application answers an error with status 500 and `by the application`, where it can and
   * doesn't ignore it.
   */
  listen(options?: { readonly ignoreErrors?: boolean }): Promise<Listening>
}

export interface Framework {
  readonly name: string
  readonly app: () => FrameworkApp
}

class ExpressApp implements FrameworkApp {
  readonly errors: unknown[] = []
  readonly #app
  readonly #express

  constructor(express: Express) {
    this.#express = express
    this.#app = express()
  }

  use(step: Step): this {
    this.#app.use((req, res, next) => step(req, res, next))
    return this
  }

  useJsonParser(): this {
    this.#app.use(this.#express.json())
    return this
  }

  bind(served: Served, path = '/'): this {
    this.#app.use(path, expressBinding(served))
    return this
  }

  route(run: OwnRoute): this {
    this.#app.use((req, res) => run(expressFetchRequest(req), res, req))
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

class KoaApp implements FrameworkApp {
  readonly errors: unknown[] = []
  readonly #app

  constructor(Koa: Koa) {
    this.#app = new Koa()
    this.#app.on('error', (error) => this.errors.push(error))
    this.#app.use(async (ctx, next) => {
      try {
        await next()
      } catch (error) {
        this.errors.push(error)
        ctx.status = 500
        ctx.body = 'by the application'
      }
    })
  }

  use(step: Step): this {
    this.#app.use(
      ({ req, res }, next) =>
        new Promise((resolve, reject) => step(req, res, () => void next().then(resolve, reject))),
    )
    return this
  }

  useJsonParser(): this {
    this.#app.use(bodyParser())
    return this
  }

  bind(served: Served, path = '/'): this {
    this.#app.use(mount(path, koaBinding(served)))
    return this
  }

  route(run: OwnRoute): this {
    this.#app.use((ctx) => {
      ctx.respond = false
      run(koaFetchRequest(ctx), ctx.res, ctx.req)
    })
    return this
  }

  listen(): Promise<Listening> {
    return listenWith(this.#app)
  }
}

export const frameworks: readonly Framework[] = [
  ...expressVersions.map(({ name, express }) => ({ name, app: () => new ExpressApp(express) })),
  ...koaVersions.map(({ name, Koa }) => ({ name, app: () => new KoaApp(Koa) })),
]
