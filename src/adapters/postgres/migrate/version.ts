import { StorageError } from '../../../core/errors.js'
import type { Database } from '../connection/database.js'
import { isUndefinedTable } from '../connection/failures.js'
import { readNumber } from '../sql/rows.js'
import { type SchemaName, statement } from '../sql/statement.js'
import { FIND_SWITCH } from '../sql/events.js'

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

/** Returns why code of this schema version must not use a schema that newer code migrated, or `null` if it may. */
export function incompatibility({ version, minCompatible }: SchemaVersion, own: number): string | null {
  if (minCompatible <= own) return null
  return (
    `The database schema has version ${version}, which requires code of schema version ${minCompatible} or later ` +
    `(got ${own}). Use a newer release of the library: migrate() never downgrades a schema.`
  )
}

/** @throws StorageError `DATABASE_UNAVAILABLE` if code of this schema version must not use the schema. */
export function assertCompatible(found: SchemaVersion, own: number): void {
  const message = incompatibility(found, own)
  if (message !== null) throw new StorageError('DATABASE_UNAVAILABLE', { message, retryable: false })
}
