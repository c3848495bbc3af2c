import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { fastify as fastify5, type FastifyInstance } from 'fastify'
import { fastify as fastify4 } from 'fastify4'
import { listen, type Listening } from '../bindings/listening.js'

export type Fastify = typeof fastify5
export type App = FastifyInstance

export interface FastifyVersion {
  readonly name: string
  readonly fastify: Fastify
}

/** The tests use the types of Fastify 5. `types.test.ts` checks the binding against the types of both versions. */
export const versions: readonly FastifyVersion[] = [
  { name: 'Fastify 4', fastify: fastify4 as unknown as Fastify },
  { name: 'Fastify 5', fastify: fastify5 },
]

/** An application with any server. */
type AnyApp = Pick<App, 'ready' | 'routing'>

/** Returns a listener that handles requests once the plugins of the application are loaded. */
export function listenerOf(app: AnyApp): RequestListener {
  const ready = app.ready()
  return (message: IncomingMessage, response: ServerResponse) =>
    void ready.then(() => app.routing(message, response))
}

/** Listens until the end of the test. */
export async function listenWith(app: AnyApp): Promise<Listening> {
  await app.ready()
  return listen((message, response) => app.routing(message, response))
}

/** Removes the version of Fastify that a plugin asks for, because the plugins in use here run in both. */
export function forAnyVersion<Plugin extends (...args: never[]) => unknown>(plugin: Plugin): Plugin {
  const copy = ((...args) => plugin(...args)) as Plugin
  return Object.assign(copy, { [Symbol.for('skip-override')]: true, default: copy })
}
