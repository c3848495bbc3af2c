import type { Db } from 'mongodb'

/**
 * The parts of a `Db` by which the adapter recognizes one. The type is structural, so it fits a `Db` of any copy of the
 * driver, such as the one in mongoose. It lacks `client`, which every `Db` has but mongodb 6.0 doesn't declare.
 */
export interface MongoDatabase {
  readonly databaseName: string
  collection(name: string, options?: never): unknown
  command(command: never, options?: never): unknown
}

/** Returns the `Db` of a connection that opens later, and nothing before that. */
export type MongoDatabaseSource = () => MongoDatabase | null | undefined

/** @throws TypeError if the value is not a `Db`. `name` starts the message. */
export function checkDatabase(name: string, value: unknown): Db {
  const refused = mistakenHandle(value)
  const given = Object(value) as { collection?: unknown; client?: { startSession?: unknown } }
  if (
    refused === null &&
    typeof given.collection === 'function' &&
    typeof given.client?.startSession === 'function'
  ) {
    return value as Db
  }
  const got = refused === null ? '' : ` (got ${refused.name}). ${refused.advice}`
  throw new TypeError(`${name} a Db of the driver mongodb, as returned by client.db()${got || '.'}`)
}

/** A handle that an application may pass by mistake, which leads to the `Db`. */
interface MistakenHandle {
  /** Continues "got …". */
  readonly name: string
  readonly advice: string
  readonly matches: (handle: Readonly<Record<string, unknown>>) => boolean
}

const isFunction = (value: unknown) => typeof value === 'function'

/** Recognized by their methods, since none is a dependency. */
const MISTAKEN: readonly MistakenHandle[] = [
  {
    name: 'a Promise',
    advice: 'Await it first.',
    matches: ({ then }) => isFunction(then),
  },
  {
    name: 'a mongoose connection',
    advice: 'Pass () => connection.db.',
    matches: ({ openUri, collection }) => isFunction(openUri) && isFunction(collection),
  },
  {
    name: 'mongoose',
    advice: 'Pass () => mongoose.connection.db.',
    matches: ({ createConnection, model }) => isFunction(createConnection) && isFunction(model),
  },
  {
    name: 'a MongoClient',
    advice: 'Pass client.db().',
    matches: ({ db, startSession }) => isFunction(db) && isFunction(startSession),
  },
  {
    name: 'a Db of mongodb 5 or earlier',
    advice: 'Install mongodb 6 or later.',
    // mongodb 6 removed the method.
    matches: ({ addUser, collection }) => isFunction(addUser) && isFunction(collection),
  },
  {
    name: 'a class',
    advice: 'Pass an instance of it.',
    matches: ({ prototype }) => isFunction((Object(prototype) as { collection?: unknown }).collection),
  },
]

function mistakenHandle(value: unknown): Omit<MistakenHandle, 'matches'> | null {
  if (value === undefined) return UNDEFINED
  if (typeof value === 'string') return CONNECTION_STRING
  return MISTAKEN.find(({ matches }) => matches(Object(value) as Record<string, unknown>)) ?? null
}

// Does not include the value, which can contain a password.
const CONNECTION_STRING = { name: 'a string', advice: 'Pass new MongoClient(url).db().' }
const UNDEFINED = {
  name: 'undefined',
  advice: 'If the connection opens later, pass a function that returns its Db.',
}
