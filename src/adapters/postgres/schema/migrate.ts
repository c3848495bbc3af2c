import type { MigrationResult } from '../../../core/store/contract.js'
import type { Database } from '../connection/database.js'
import { databaseError, wasRolledBack } from '../connection/failures.js'
import { readNumber } from '../statements/object-row.js'
import { buildConcurrentIndex } from './concurrent-index.js'
import { migrationBlock, READ_FOUND_VERSION } from './migration-text.js'
import type { SchemaName } from './schema-name.js'
import { STEPS, type ConcurrentIndexStep, type MigrationStep, type TransactionStep } from './steps.js'
import { assertCompatible, newestVersion, readVersion } from './version.js'

/** A migration must see what others committed while it waited for its lock, whatever the default isolation level is. */
const NEW_SNAPSHOTS = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED'

const MAX_RETRIES = 5

/**
 * Migrates the schema to the version of this code. Any number of processes, of any version, may call it at the same
 * time: one does the work and the others wait for it. Costs one read if there is nothing to do.
 *
 * @throws StorageError `DATABASE_UNAVAILABLE` if the schema is too new for this code.
 */
export async function migrate(
  database: Database,
  schema: SchemaName,
  steps: readonly MigrationStep[] = STEPS,
): Promise<MigrationResult> {
  try {
    const before = await readVersion(database, schema)
    if (before.version >= newestVersion(steps)) {
      assertCompatible(before, steps)
      return { from: before.version, to: before.version }
    }
    let from: number | null = null
    for (const group of groupByTransaction(steps)) {
      if ('kind' in group) {
        await buildConcurrentIndex(database, schema, group)
      } else {
        const found = await runBlock(database, migrationBlock(group, schema))
        from ??= found
      }
    }
    const after = await readVersion(database, schema)
    assertCompatible(after, steps)
    return { from: from ?? before.version, to: after.version }
  } catch (error) {
    throw databaseError(error)
  }
}

/** Groups neighbouring steps that share a transaction. A concurrent index can't be built in one, so it stays single. */
function groupByTransaction(
  steps: readonly MigrationStep[],
): (readonly TransactionStep[] | ConcurrentIndexStep)[] {
  const groups: (TransactionStep[] | ConcurrentIndexStep)[] = []
  for (const step of steps) {
    const last = groups.at(-1)
    if (step.kind === 'concurrent-index') groups.push(step)
    else if (Array.isArray(last)) last.push(step)
    else groups.push([step])
  }
  return groups
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
