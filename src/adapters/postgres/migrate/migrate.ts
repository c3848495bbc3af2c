import { StorageError } from '../../../core/errors.js'
import type { MigrationResult } from '../../../core/store/contract.js'
import type { Database } from '../connection/database.js'
import { databaseError, sqlState, wasRolledBack } from '../connection/failures.js'
import { SCHEMA, type Schema } from '../sql/schema.js'
import type { SchemaName } from '../sql/statement.js'
import { readNumber } from '../sql/rows.js'
import { additionsTo, changeText } from './additions.js'
import { buildConcurrentIndex } from './concurrent-index.js'
import { switchEventsText } from './events-switch.js'
import { differences, expectedCatalog, readParts } from './catalog.js'
import { migrationBlock, READ_FOUND_VERSION } from './text.js'
import { incompatibility, readVersion, type SchemaVersion } from './version.js'

/** A migration must see what others committed while it waited for its lock, whatever the default isolation level is. */
const NEW_SNAPSHOTS = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED'

const MAX_RETRIES = 5

/** Lets the transactions continue that waited. */
const PAUSE_MILLISECONDS = 300
/** SQLSTATE of a lock that was not available within its timeout. */
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Migrates the schema to the version of this code, and restores what one of that version has lost, such as an index.
 * Any number of processes, of any version, may call it at the same time. Costs a few reads if there is nothing to do.
 *
 * `events` turns events on or off; `null` leaves them as they are. They stay on if another process turns them on
 * meanwhile.
 *
 * @throws StorageError `DATABASE_UNAVAILABLE` if the schema is too new for this code.
 */
export async function migrate(
  database: Database,
  schema: SchemaName,
  definition: Schema = SCHEMA,
  events: boolean | null = null,
): Promise<MigrationResult> {
  try {
    const before = await readVersion(database, schema)
    const result = await migrateSchema(database, schema, definition, before)
    // The switch at the beginning of the migration. One that was turned on later stays.
    const found = before.eventsSwitch
    if (events !== null && events !== (found !== null)) {
      await runPromptly(database, switchEventsText(events, schema, { found, isPatient: false }))
    }
    return result
  } catch (error) {
    throw databaseError(error)
  }
}

async function migrateSchema(
  database: Database,
  schema: SchemaName,
  definition: Schema,
  before: SchemaVersion,
): Promise<MigrationResult> {
  let from: number | null = null
  let after = before
  let isDamaged =
    before.version === definition.version && (await isRestorable(database, schema, definition, before))
  while (after.version < definition.version || isDamaged) {
    isDamaged = false
    // The tables of an existing schema may be large and in use.
    const isEmpty = after.version === 0
    if (!isEmpty && after.hasTable) {
      // One by one, each in a separate transaction, without blocking writers.
      for (const addition of definition.tables.flatMap(additionsTo)) {
        const { isMissing: isNeeded, statement } = addition
        if (addition.index) await buildConcurrentIndex(database, schema, addition.index, addition)
        else await runPromptly(database, changeText(schema, { isNeeded, change: `${statement};` }))
      }
    }
    const found = await runBlock(database, migrationBlock(definition, schema, { onlyIfEmpty: isEmpty }))
    from ??= found
    after = await readVersion(database, schema)
  }
  const refusal = incompatibility(after, definition.version)
  if (refusal !== null) throw new StorageError('DATABASE_UNAVAILABLE', { message: refusal, retryable: false })
  return { from: from ?? before.version, to: after.version }
}

/** Returns whether a schema of this version lacks something that this role may restore. */
async function isRestorable(
  database: Database,
  schema: SchemaName,
  definition: Schema,
  { isOwner, lacksRow, countsAgain, eventsSwitch }: SchemaVersion,
): Promise<boolean> {
  if (!isOwner) return false
  if (lacksRow || countsAgain) return true
  const wanted = expectedCatalog(definition, schema, { events: eventsSwitch !== null })
  return differences(await readParts(database, schema), wanted).some(({ name, actual }) =>
    actual === undefined
      ? /^(?:table|type|function|index) /.test(name) && !name.endsWith('_pkey')
      : name.startsWith('function '),
  )
}

/** Runs a change that is instant but needs an exclusive table lock. Waits for the lock in short attempts. */
async function runPromptly(database: Database, text: string): Promise<void> {
  for (;;) {
    try {
      await database.script(NEW_SNAPSHOTS, text)
      return
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE && !wasRolledBack(error)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS))
  }
}

/** Runs a block and returns the schema version that it found. */
async function runBlock(database: Database, block: string): Promise<number> {
  for (let retries = 0; ;) {
    try {
      const [row] = await database.script(NEW_SNAPSHOTS, block, READ_FOUND_VERSION)
      return readNumber(row?.[0])
    } catch (error) {
      if (!wasRolledBack(error) || retries++ >= MAX_RETRIES) throw error
    }
  }
}
