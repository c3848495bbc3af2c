import { StorageError } from '../../../core/errors.js'
import type { MigrationResult } from '../../../core/store/contract.js'
import type { Database } from '../connection/database.js'
import { databaseError, wasRolledBack } from '../connection/failures.js'
import { readNumber } from '../statements/object-row.js'
import { buildConcurrentIndex } from './concurrent-index.js'
import { migrationBlock, READ_FOUND_VERSION, stretches } from './migration-text.js'
import type { SchemaName } from './schema-name.js'
import { readState, type SchemaState } from './state.js'
import { STEPS, type MigrationStep } from './steps.js'

/** Whatever the role or the server has as its default: a migration must see what was done while it waited for its lock. */
const NEW_SNAPSHOTS = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED'

const ROLLBACKS = 5

/**
 * Takes the schema to the version of this code. Any number of processes may do it at once, of other versions too: who
 * comes later waits, finds the work done, and does nothing. Where there is nothing to do it is one read.
 *
 * @throws StorageError `DATABASE_UNAVAILABLE` where the schema is too new for this code.
 */
export async function migrate(
  database: Database,
  schema: SchemaName,
  steps: readonly MigrationStep[] = STEPS,
): Promise<MigrationResult> {
  try {
    const before = await readState(database, schema)
    const newest = newestVersion(steps)
    if (before.version >= newest) {
      refuseTooNew(before, steps)
      return { from: before.version, to: before.version }
    }
    let from: number | null = null
    for (const part of stretches(steps)) {
      if ('kind' in part) {
        await buildConcurrentIndex(database, schema, part)
      } else {
        const found = await runBlock(database, migrationBlock(part, schema))
        from ??= found
      }
    }
    const after = await readState(database, schema)
    refuseTooNew(after, steps)
    return { from: from ?? before.version, to: after.version }
  } catch (error) {
    throw databaseError(error)
  }
}

/** @throws StorageError `DATABASE_UNAVAILABLE` where code of these steps may not use the schema. */
export function refuseTooNew({ version, minCompatible }: SchemaState, steps: readonly MigrationStep[]): void {
  const flaw = tooNew({ version, minCompatible }, steps)
  if (flaw !== null) throw new StorageError('DATABASE_UNAVAILABLE', { message: flaw })
}

/** What is wrong with a schema that newer code has left behind; `null` where this code still may use it. */
export function tooNew(
  { version, minCompatible }: SchemaState,
  steps: readonly MigrationStep[],
): string | null {
  if (minCompatible <= newestVersion(steps)) return null
  return (
    `The database schema has version ${version}, which takes code of schema version ${minCompatible} or later; this is ` +
    `version ${newestVersion(steps)}. Use a newer release of the library: migrate() never goes back.`
  )
}

export function newestVersion(steps: readonly MigrationStep[]): number {
  return steps.at(-1)?.version ?? 0
}

/** Resolves to the version that the block found. */
async function runBlock(database: Database, block: string): Promise<number> {
  for (let rollbacks = 0; ;) {
    try {
      const [row] = await database.script(NEW_SNAPSHOTS, block, READ_FOUND_VERSION)
      return readNumber(row?.[0])
    } catch (error) {
      if (!wasRolledBack(error) || rollbacks++ >= ROLLBACKS) throw error
    }
  }
}
