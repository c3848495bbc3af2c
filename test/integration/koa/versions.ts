import type { RequestListener } from 'node:http'
import Koa3 from 'koa'
import Koa2 from 'koa2'
import { listen, type Listening } from '../bindings/listening.js'

export type Koa = typeof Koa3
export type App = Koa3

export interface KoaVersion {
  readonly name: string
  readonly Koa: Koa
}

/** The tests use the types of Koa 3. `test/types` checks the binding against the types of both versions. */
export const versions: readonly KoaVersion[] = [
  { name: 'Koa 2', Koa: Koa2 as unknown as Koa },
  { name: 'Koa 3', Koa: Koa3 },
]

/** An application with any context type. */
type AnyApp = Pick<App, 'callback'>

export function listenerOf(app: AnyApp): RequestListener {
  const listener = app.callback()
  return (message, response) => void listener(message, response)
}

/** Listens until the end of the test. */
export function listenWith(app: AnyApp): Promise<Listening> {
  return listen(listenerOf(app))
}
