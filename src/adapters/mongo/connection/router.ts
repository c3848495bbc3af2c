import type { MongoClient } from 'mongodb'
import { runCommand, type Namespace } from './namespace.js'

/** Clients that are known to be connected to a router, or not to be. */
const known = new WeakMap<MongoClient, boolean>()

/** Returns whether the client is connected to `mongos`, the router of a sharded cluster. Asks the server once per client. */
export async function isRouted(namespace: Namespace): Promise<boolean> {
  const { client } = namespace
  const before = known.get(client)
  if (before !== undefined) return before
  const isRouter = isRouterHello(await runCommand(namespace, { hello: 1 }))
  known.set(client, isRouter)
  return isRouter
}

/** Returns whether this response to `hello` comes from a router. */
export function isRouterHello(hello: Readonly<Record<string, unknown>>): boolean {
  return hello['msg'] === 'isdbgrid'
}
