import { StorageError } from '../../../core/errors.js'
import type { Database } from '../connection/database.js'
import { isUndefinedTable } from '../connection/failures.js'
import { readNumber } from '../statements/object-row.js'
import { statement } from '../statements/statement.js'
import { FIND_SWITCH } from './events-switch.js'
import type { SchemaName } from './schema-name.js'
import type { MigrationStep } from './migration-step.js'

/** The version of a migrated schema and the lowest version of the code that may use it. */
export interface SchemaVersion {
  readonly version: number
  readonly minCompatible: number
  /** Identifies the switch that turned events on. `null` while they are off. */
  readonly eventsSwitch: string | null
}

const NOT_MIGRATED: SchemaVersion = { version: 0, minCompatible: 0, eventsSwitch: null }

/** Reads the version of a schema. Returns version 0 if the schema or its version table does not exist. */
export async function readVersion(database: Database, schema: SchemaName): Promise<SchemaVersion> {
  const text = `SELECT v.version, v.min_compatible, (${FIND_SWITCH}) FROM {schema}.schema_version v`
  try {
    const [row] = await database.run(statement('schema_version', text, schema), [])
    if (!row) return NOT_MIGRATED
    return { version: readNumber(row[0]), minCompatible: readNumber(row[1]), eventsSwitch: row[2] ?? null }
  } catch (error) {
    if (isUndefinedTable(error)) return NOT_MIGRATED
    throw error
  }
}

/** Returns the version that these steps lead to. */
export function newestVersion(steps: readonly MigrationStep[]): number {
  return steps.at(-1)?.version ?? 0
}

/** Returns why code of these steps must not use a schema that newer code migrated, or `null` if it may. */
export function incompatibility(
  { version, minCompatible }: SchemaVersion,
  steps: readonly MigrationStep[],
): string | null {
  if (minCompatible <= newestVersion(steps)) return null
  return (
    `The database schema has version ${version}, which requires code of schema version ${minCompatible} or later ` +
    `(got ${newestVersion(steps)}). Use a newer release of the library: migrate() never downgrades a schema.`
  )
}

/** @throws StorageError `DATABASE_UNAVAILABLE` if code of these steps must not use the schema. */
export function assertCompatible(found: SchemaVersion, steps: readonly MigrationStep[]): void {
  const message = incompatibility(found, steps)
  if (message !== null) throw new StorageError('DATABASE_UNAVAILABLE', { message, retryable: false })
}
