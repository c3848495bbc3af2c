import { StorageError } from '../../../core/errors.js'
import type { Database } from '../connection/database.js'
import { isUndefinedTable } from '../connection/failures.js'
import { readNumber } from '../statements/object-row.js'
import { statement } from '../statements/statement.js'
import type { SchemaName } from './schema-name.js'
import type { MigrationStep } from './migration-step.js'

/** The version of a migrated schema and the lowest version of the code that may use it. */
export interface SchemaVersion {
  readonly version: number
  readonly minCompatible: number
}

const NOT_MIGRATED: SchemaVersion = { version: 0, minCompatible: 0 }

/** Reads the version of a schema. Returns version 0 if the schema or its version table does not exist. */
export async function readVersion(database: Database, schema: SchemaName): Promise<SchemaVersion> {
  const text = 'SELECT v.version, v.min_compatible FROM {schema}.schema_version v'
  try {
    const [row] = await database.run(statement('schema_version', text, schema), [])
    return row ? { version: readNumber(row[0]), minCompatible: readNumber(row[1]) } : NOT_MIGRATED
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
