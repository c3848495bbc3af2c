import type { ClientSession, Collection, Db, Document, MongoClient, Timestamp } from 'mongodb'

/** How values are written and read, whatever the application's client is set to. Sizes are 64-bit integers in both directions. */
const BSON = {
  promoteLongs: true,
  promoteValues: true,
  promoteBuffers: false,
  useBigInt64: false,
  bsonRegExp: false,
  ignoreUndefined: false,
  serializeFunctions: false,
  checkKeys: false,
  enableUtf8Validation: true,
  fieldsAsRaw: {},
  raw: false,
} as const

const OPTIONS = { ...BSON, readPreference: 'primary', writeConcern: { w: 'majority' } } as const

/** A document of the adapter; all have texts as `_id`. */
export interface Stored extends Document {
  readonly _id: string
}

/** Where a store keeps its documents, opened with options of its own. */
export interface Place {
  readonly client: MongoClient
  readonly db: Db
  /**
   * A document for each key that is live, with its rows in it, and one for each scope, with its sums. They lie together
   * because one command can then write both.
   */
  readonly objects: Collection<Stored>
  readonly history: Collection<Stored>
  readonly leftovers: Collection<Stored>
  readonly schema: Collection<Stored>
  readonly clock: CommitClock
}

export function openPlace(given: Db, prefix: string): Place {
  const { client } = given
  const db = client.db(given.databaseName, OPTIONS)
  const open = (name: string) =>
    db.collection<Stored>(prefix + name, { ...OPTIONS, readConcern: { level: 'majority' } })
  return {
    client,
    db,
    objects: open('objects'),
    history: open('history'),
    leftovers: open('leftovers'),
    schema: open('schema'),
    clock: clockOf(client),
  }
}

/** When this process committed last, in the server's time: reads wait until the server has come as far. */
export interface CommitClock {
  last: Timestamp | null
}

/** One for each client, because every store over it is to see what the others have written. */
const clocks = new WeakMap<MongoClient, CommitClock>()

function clockOf(client: MongoClient): CommitClock {
  const clock = clocks.get(client) ?? { last: null }
  clocks.set(client, clock)
  return clock
}

/** Moves the clock to a commit that has just been acknowledged. */
export function rememberCommit(clock: CommitClock, { operationTime }: ClientSession): void {
  if (operationTime && !clock.last?.greaterThan(operationTime)) clock.last = operationTime
}

/** An error of one of the statements of a command, which the server doesn't call an error of the command. */
class StatementError extends Error {
  override readonly name = 'StatementError'
  readonly code: number

  constructor({ code, errmsg }: { code: number; errmsg: string }) {
    super(errmsg)
    this.code = code
  }
}

/**
 * One command on the database; resolves to the server's answer. A write that it refused is an error here too. A bare
 * command takes nothing over from how the `Db` was opened, but much from the client.
 */
export async function runCommand(
  { db }: Place,
  command: Document,
  session?: ClientSession,
): Promise<Document> {
  const answer = await db.command(command, {
    ...BSON,
    readPreference: 'primary',
    ...(session && { session }),
  })
  const [refused] = (answer['writeErrors'] ?? []) as { code: number; errmsg: string }[]
  if (refused) throw new StatementError(refused)
  return answer
}
