import type { ClientSession, Db, Document, MongoClient, Timestamp } from 'mongodb'
import { BSON } from './bson.js'
import { whileOpen } from './opening.js'
import { watchTopology } from './topology.js'

const OPTIONS = { ...BSON, readPreference: 'primary', writeConcern: { w: 'majority' } } as const

/** A document of the adapter. Every `_id` is a string. */
export interface Stored extends Document {
  readonly _id: string
}

/** The collections of one store, opened with the adapter's own options. */
export type Namespace = ReturnType<typeof openNamespace>

export function openNamespace(given: Db, prefix: string) {
  const client: MongoClient = given.client
  const clock = clocks.get(client) ?? { last: null }
  clocks.set(client, clock)
  watchTopology(client)
  const openDatabase = (name: string) => client.db(name, OPTIONS)
  const db = openDatabase(given.databaseName)
  const open = (name: string) =>
    db.collection<Stored>(prefix + name, { ...OPTIONS, readConcern: { level: 'majority' } })
  return {
    client,
    db,
    /** Opens another database of the server. */
    openDatabase,
    /**
     * One document per live key, which holds the key's rows, and one per scope, which holds its sums. Both kinds share a
     * collection so that one command can write both.
     */
    objects: open('objects'),
    history: open('history'),
    leftovers: open('leftovers'),
    /** One document per event, and one per object that has any. Both kinds share a collection, as in `objects`. */
    events: open('events'),
    schema: open('schema'),
    clock,
  }
}

/** The server time of this process's last commit, which reads wait for. */
export interface CommitClock {
  last: Timestamp | null
}

/** One clock per client, because all stores over a client must see each other's writes. */
const clocks = new WeakMap<MongoClient, CommitClock>()

export function rememberCommit(clock: CommitClock, { operationTime }: ClientSession): void {
  if (operationTime && !clock.last?.greaterThan(operationTime)) clock.last = operationTime
}

export interface Update {
  readonly q: { readonly _id: string } & Document
  readonly u: object
  readonly upsert?: boolean
  readonly hint?: string
}

interface WriteError {
  readonly code: number
  readonly errmsg: string
  /** Of a duplicate: the fields of the index. */
  readonly keyPattern?: unknown
}

/** An error of one statement, in the response of a command that succeeded. */
class StatementError extends Error {
  override readonly name = 'StatementError'
  readonly code: number
  readonly keyPattern: unknown

  constructor({ code, errmsg, keyPattern }: WriteError) {
    super(errmsg)
    this.code = code
    this.keyPattern = keyPattern
  }
}

/** Runs a command, which inherits none of the options of the `Db`. Rejects if the server refused a statement of it. */
export async function runCommand(
  { client, db }: Namespace,
  command: Document,
  session?: ClientSession,
): Promise<Document> {
  const options = { ...BSON, readPreference: 'primary', ...(session && { session }) } as const
  const response = await whileOpen(client, () => db.command(command, options))
  const [refused] = (response['writeErrors'] ?? []) as WriteError[]
  if (refused) throw new StatementError(refused)
  return response
}

/** Clients that are known to be connected to a router, or not to be. */
const known = new WeakMap<MongoClient, boolean>()

/** Returns whether the client is connected to `mongos`, the router of a sharded cluster. Asks once per client. */
export async function isRouted(namespace: Namespace): Promise<boolean> {
  const { client } = namespace
  const before = known.get(client)
  if (before !== undefined) return before
  const isRouter = isRouterHello(await runCommand(namespace, { hello: 1 }))
  known.set(client, isRouter)
  return isRouter
}

export function isRouterHello(hello: Readonly<Record<string, unknown>>): boolean {
  return hello['msg'] === 'isdbgrid'
}
