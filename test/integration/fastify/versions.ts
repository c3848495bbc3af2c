import type { RequestListener } from 'node:http'
import { fastify as fastify5, type FastifyInstance } from 'fastify'
import { fastify as fastify4 } from 'fastify4'
import { listen, type Listening } from '../bindings/listening.js'

export type Fastify = typeof fastify5
export type App = FastifyInstance

export interface FastifyVersion {
  readonly name: string
  readonly fastify: Fastify
}

/** The tests use the types of Fastify 5. `test/types` checks the binding against the types of both versions. */
export const versions: readonly FastifyVersion[] = [
  { name: 'Fastify 4', fastify: fastify4 as unknown as Fastify },
  { name: 'Fastify 5', fastify: fastify5 },
]

/** An application with any server. */
type AnyApp = Pick<App, 'ready' | 'routing'>

/** Returns a listener that handles requests once the plugins of the application are loaded. */
export function listenerOf(app: AnyApp): RequestListener {
  const ready = app.ready()
  return (message, response) => void ready.then(() => app.routing(message, response))
}

/** Listens until the end of the test. */
export async function listenWith(app: AnyApp): Promise<Listening> {
  await app.ready()
  return listen((message, response) => app.routing(message, response))
}
