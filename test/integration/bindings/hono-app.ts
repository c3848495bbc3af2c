import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { HTTPException } from 'hono/http-exception'
import { fetchRequest, honoBinding, honoContext } from '@svc/db/hono'
import { listenerOf } from '../hono/listener.js'
import type { Served } from '../http-table/fixture.js'
import type { Framework, FrameworkApp, OwnRoute, Step } from './framework.js'
import { listen, type Listening } from './listening.js'

interface Session {
  account?: string
}

interface Environment {
  readonly Bindings: HttpBindings
  readonly Variables: { session: Session; parsed: unknown }
}

/** Hono runs on Node.js here. It has no built-in sessions, so the tests keep them in a context variable. */
export const honoFramework: Framework = {
  name: 'Hono 4',
  app: () => new HonoApp(),
  async load() {
    const { honoBinding: binding, fetchRequest, honoContext: ownRequest } = await import('@svc/db/hono')
    return { binding, fetchRequest, ownRequest }
  },
  sessionOf: (request) => honoContext(request).get('session') as Session,
  forwarded: 'first',
  refusesMalformedPaths: false,
}

class HonoApp implements FrameworkApp {
  readonly errors: unknown[] = []
  readonly #app = new Hono<Environment>()
  #rewrite = (target: string) => target

  constructor() {
    this.#app.onError((error, c) => {
      this.errors.push(error)
      return c.text('by the application', error instanceof HTTPException ? error.status : 500)
    })
  }

  use(step: Step): this {
    this.#app.use(
      ({ env: { incoming, outgoing } }, next) =>
        new Promise((resolve, reject) => step(incoming, outgoing, () => void next().then(resolve, reject))),
    )
    return this
  }

  useRewrite(rewrite: (target: string) => string): this {
    this.#rewrite = rewrite
    return this
  }

  useWork(work: (request: Request) => Promise<void>): this {
    this.#app.use(async (c, next) => {
      await work(fetchRequest(c))
      await next()
    })
    return this
  }

  useJsonParser(moreTypes: readonly string[] = []): this {
    const types = ['application/json', ...moreTypes.map((type) => type.split(';')[0])]
    this.#app.use(async (c, next) => {
      if (types.includes(c.req.header('content-type')?.split(';')[0])) {
        const text = await c.req.text()
        try {
          if (text !== '') c.set('parsed', JSON.parse(text))
        } catch (cause) {
          throw new HTTPException(400, { cause })
        }
      }
      await next()
    })
    return this
  }

  useSessions(): this {
    const sessions = new Map<string, Session>()
    this.#app.use(async (c, next) => {
      const id = getCookie(c, 'connect.sid') ?? crypto.randomUUID()
      const session = sessions.get(id) ?? {}
      c.set('session', session)
      await next()
      if (session.account === undefined) return
      sessions.set(id, session)
      setCookie(c, 'connect.sid', id)
    })
    return this
  }

  bind(served: Served, path = '/'): this {
    this.#app.route(path, new Hono().use(honoBinding(served)))
    return this
  }

  route(run: OwnRoute): this {
    this.#app.all('*', (c) => {
      run(fetchRequest(c), c.env.outgoing, c.env.incoming)
      return RESPONSE_ALREADY_SENT
    })
    return this
  }

  routeOfParsedBody(): this {
    this.#app.all('*', (c) => c.json(c.get('parsed')))
    return this
  }

  listen(): Promise<Listening> {
    const listener = listenerOf(this.#app)
    return listen((message, response) => {
      message.url = this.#rewrite(message.url!)
      listener(message, response)
    })
  }
}
