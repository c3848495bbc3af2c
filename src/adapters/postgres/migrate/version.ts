import { StorageError } from '../../../core/errors.js'
import type { Database } from '../connection/database.js'
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

const EXISTS = `
  SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = {schema-literal} AND c.relname = 'schema_version'`

/** Reads the version of a schema. Returns version 0 if the schema or its version table does not exist. */
export async function readVersion(database: Database, schema: SchemaName): Promise<SchemaVersion> {
  // Looks first, because reading a table that is missing would end a transaction of the caller.
  const exists = await database.run(statement('has_schema_version', EXISTS, schema), [])
  if (exists.length === 0) return NOT_MIGRATED
  const text = `SELECT v.version, v.min_compatible, (${FIND_SWITCH}) FROM {schema}.schema_version v`
  const [row] = await database.run(statement('schema_version', text, schema), [])
  if (!row) return NOT_MIGRATED
  return { version: readNumber(row[0]), minCompatible: readNumber(row[1]), eventsSwitch: row[2] ?? null }
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
