import { bodyParser } from '@koa/bodyparser'
import Koa from 'koa'
import mount from 'koa-mount'
import session from 'koa-session'
import { fetchRequest, koaBinding, koaContext } from '@svc/db/koa'
import type { Served } from '../http-table/fixture.js'
import { listenWith } from '../koa/versions.js'
import type { AppOptions, Framework, FrameworkApp, OwnRoute, Step } from './framework.js'
import type { Listening } from './listening.js'

export const koaFramework: Framework = {
  name: 'Koa 3',
  app: (options) => new KoaApp(options),
  async load() {
    const { koaBinding: binding, fetchRequest, koaContext: ownRequest } = await import('@svc/db/koa')
    return { binding, fetchRequest, ownRequest }
  },
  sessionOf: (request) => koaContext(request).session as { account?: string },
  forwarded: 'first',
  refusesMalformedPaths: false,
}

class KoaApp implements FrameworkApp {
  readonly errors: unknown[] = []
  readonly #app

  constructor({ trustsProxy }: AppOptions = {}) {
    this.#app = new Koa({ ...(trustsProxy !== undefined && { proxy: trustsProxy }) })
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

  useRewrite(rewrite: (target: string) => string): this {
    return this.use((message, _response, proceed) => {
      message.url = rewrite(message.url!)
      proceed()
    })
  }

  useWork(work: (request: Request) => Promise<void>): this {
    this.#app.use(async (ctx, next) => {
      await work(fetchRequest(ctx))
      await next()
    })
    return this
  }

  useJsonParser(moreTypes: readonly string[] = []): this {
    this.#app.use(bodyParser({ extendTypes: { json: [...moreTypes] } }))
    return this
  }

  useSessions(): this {
    this.#app.keys = ['test']
    this.#app.use(session(this.#app))
    return this
  }

  bind(served: Served, path = '/'): this {
    this.#app.use(mount(path, koaBinding(served)))
    return this
  }

  route(run: OwnRoute): this {
    this.#app.use((ctx) => {
      ctx.respond = false
      run(fetchRequest(ctx), ctx.res, ctx.req)
    })
    return this
  }

  routeOfParsedBody(): this {
    this.#app.use((ctx) => void (ctx.body = ctx.request.body))
    return this
  }

  listen(): Promise<Listening> {
    return listenWith(this.#app)
  }
}
