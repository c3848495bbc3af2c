import type { Database } from '../connection/database.js'
import { readNumber } from '../sql/rows.js'
import { type SchemaName, statement } from '../sql/statement.js'
import { EVENTS_SEQUENCE, FIND_SWITCH } from '../sql/events.js'
import { relation, TYPES } from '../sql/tables.js'

/** The lock of migrations of all versions. It is a pair of numbers, which Postgres keeps apart from single ones. */
export const MIGRATION_LOCK = `pg_advisory_xact_lock(hashtext('@svc/db migration'), hashtext({schema-literal}))`

/** The version of a migrated schema and the lowest version of the code that may use it. */
export type SchemaVersion = Awaited<ReturnType<typeof readVersion>>

/** Selects the version that the other objects of the schema tell: that of its newest marker type, or the first. */
export const TOLD_VERSION = `
    SELECT coalesce(
      (SELECT max(pg_catalog.substring(t.typname::text, '^schema_v([0-9]+)')::int)
       FROM ${TYPES} AND t.typtype = 'd'),
      (SELECT 1 FROM ${relation('objects')}),
      0)`

/** Reads what catalogs tell: reading a table that is missing or not permitted would end a transaction of the caller. */
const CATALOGS = `
  SELECT v.oid IS NOT NULL, u.can AND pg_catalog.has_table_privilege(v.oid, 'SELECT'), pg_catalog.row_security_active(v.oid),
    (${TOLD_VERSION}), (${FIND_SWITCH}), pg_catalog.pg_has_role(coalesce(o.relowner, n.nspowner), 'USAGE'),
    CASE WHEN u.can AND pg_catalog.has_table_privilege(e.oid, 'SELECT')
      THEN pg_catalog.has_sequence_privilege(${EVENTS_SEQUENCE}, 'SELECT') END
  FROM (SELECT) one
  LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = {schema-literal}
  LEFT JOIN pg_catalog.pg_class v ON v.relnamespace = n.oid AND v.relname = 'schema_version'
  LEFT JOIN pg_catalog.pg_class o ON o.relnamespace = n.oid AND o.relname = 'objects'
  LEFT JOIN pg_catalog.pg_class e ON e.relnamespace = n.oid AND e.relname = 'events'
  CROSS JOIN LATERAL (SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE') AS can) u`

const COUNTS_AGAIN = `
    SELECT max(e.id) > coalesce(pg_catalog.pg_sequence_last_value(${EVENTS_SEQUENCE}::regclass), 0) FROM {schema}.events e`

/** Reads the version of a schema: 0 if it does not exist. Without a row that this role can read, other objects tell it. */
export async function readVersion(database: Database, schema: SchemaName) {
  const [traces = []] = await database.run(statement('catalogs', CATALOGS, schema), [])
  const [hasTable, isReadable, isHidden, , , isOwner, canCount] = traces.map((value) => value === 't')
  const columns = `v.version, v.min_compatible, ${canCount ? `(${COUNTS_AGAIN})` : 'false'}`
  const text = `SELECT ${columns} FROM (SELECT) one LEFT JOIN {schema}.schema_version v ON true`
  const [row = []] = isReadable ? await database.run(statement('schema_version', text, schema), []) : []
  const isTold = row[0] == null
  return {
    version: readNumber(isTold ? traces[3] : row[0]),
    minCompatible: isTold ? 0 : readNumber(row[1]),
    /** Identifies the switch that turned events on. `null` while they are off. */
    eventsSwitch: traces[4] ?? null,
    /** Whether there is a table for the version. */
    hasTable: hasTable!,
    /** Whether that table has lost its row, as after a dump of the structure alone. */
    lacksRow: isTold && isReadable! && !isHidden!,
    /** Whether new events would get numbers below those that wait, as after logical replication. */
    countsAgain: row[2] === 't',
    /** Whether this role owns the tables. */
    isOwner: isOwner!,
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
