import { inSchema, markerType, type SchemaName } from '../sql/statement.js'
import type { Schema } from '../sql/schema.js'
import {
  columnsOf,
  relation,
  TYPES,
  VACUUM_SETTINGS,
  VERSION_TABLE,
  type CompositeType,
  type Table,
} from '../sql/tables.js'
import {
  additionBlock,
  additionsTo,
  concurrentText,
  createIndex,
  dropIndexText,
  lockBlock,
} from './additions.js'
import { REPLACE_FOREIGN_TRIGGERS, switchEventsText } from './events-switch.js'
import { lockOf } from '../sql/fragments.js'
import { objectValueIn } from '../sql/rows.js'
import { MIGRATION_LOCK, TOLD_VERSION } from './version.js'

/** A setting of the transaction with the version that {@link migrationBlock} found. */
const FOUND_VERSION = 'svc_db.found_version'

/** Reads it, within the same transaction. */
export const READ_FOUND_VERSION = `SELECT current_setting('${FOUND_VERSION}')`

/**
 * Builds one statement that takes the schema from any earlier version to this one, and restores what one of this
 * version has lost. It may run again, in any transaction. Building an index blocks writers, so with `onlyIfEmpty` it
 * does nothing in an existing schema.
 */
export function migrationBlock(
  { version, minCompatible, tables, types, functions }: Schema,
  schema: SchemaName,
  { onlyIfEmpty = false } = {},
): string {
  // To the tables of earlier versions. Nothing is missing in those that the block creates.
  const additions = tables.flatMap(additionsTo)
  return inSchema(
    `DO $migration$
DECLARE
  found_version int := 0;
  marker text;
  privilege record;
BEGIN
  IF version() LIKE '%CockroachDB%' THEN
    RAISE EXCEPTION 'CockroachDB is not supported because its advisory locks have no effect' USING ERRCODE = 'SD001';
  END IF;
  IF current_setting('server_encoding') <> 'UTF8' THEN
    RAISE EXCEPTION 'the database must have the encoding UTF8' USING ERRCODE = 'SD002';
  END IF;
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'a migration needs the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;

  -- Lock before looking: each later statement then sees everything that other migrations have committed.
  PERFORM ${MIGRATION_LOCK};
  -- IF NOT EXISTS would require the right to create schemas even if the schema exists.
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = {schema-literal}) THEN
    CREATE SCHEMA {schema};
  END IF;
${createMissing(VERSION_TABLE)}  found_version := coalesce((SELECT v.version FROM {schema}.schema_version v), (${TOLD_VERSION}));
  PERFORM set_config('${FOUND_VERSION}', found_version::text, true);
  IF found_version > ${onlyIfEmpty ? 0 : version} THEN
    RETURN;
  END IF;

${tables.map(createMissing).join('')}${types.map(createMissingType).join('')}${lockBlock(additions)}${additions.map(additionBlock).join('')}
  EXECUTE $functions$${functions}$functions$;
  IF found_version < ${version} THEN
${commentsBlock([VERSION_TABLE, ...tables])}${VACUUM_SETTINGS}
  END IF;

  INSERT INTO {schema}.schema_version (version, min_compatible) VALUES (${version}, ${minCompatible})
  ON CONFLICT (only_row) DO UPDATE SET version = excluded.version, min_compatible = excluded.min_compatible;
${markersBlock(version, schema)}${REPLACE_FOREIGN_TRIGGERS}  PERFORM {schema}.continue_events_v1();
END
$migration$`,
    schema,
  )
}

function createMissingType({ name, columns }: CompositeType): string {
  return `  IF NOT EXISTS (SELECT FROM ${relation(name)}) THEN
    CREATE TYPE {schema}.${name} AS (${columns});
  END IF;
`
}

/** Builds PL/pgSQL that gives roles the rights on a new table that they have on another one. */
function grantAs(name: string, other: string): string {
  return `    FOR privilege IN
      SELECT a.privilege_type AS what, coalesce(quote_ident(r.rolname), 'PUBLIC') AS role FROM ${relation(other)}
      CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) a LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
      WHERE a.grantee <> c.relowner
    LOOP
      EXECUTE format('GRANT %s ON %I.${name} TO %s', privilege.what, {schema-literal}, privilege.role);
    END LOOP;
`
}

function createMissing(table: Table): string {
  const { name, columns, primaryKey, checks = {}, indexes, settings, grantedAs } = table
  const lines = [
    ...columnsOf({ columns }).map((column) => column.join(' ')),
    `CONSTRAINT ${name}_pkey PRIMARY KEY (${primaryKey})`,
    ...Object.entries(checks).map(([check, condition]) => `CONSTRAINT ${check} ${condition}`),
  ]
  const storage = settings === undefined ? '' : ` WITH (${settings})`
  return `  IF NOT EXISTS (SELECT FROM ${relation(name)}) THEN
    CREATE TABLE {schema}.${name} (
      ${lines.join(',\n      ')}
    )${storage};
${indexes.map((index) => `    ${createIndex(name, index)};\n`).join('')}${grantedAs === undefined ? '' : grantAs(name, grantedAs)}  END IF;
`
}

function commentsBlock(tables: readonly Table[]): string {
  return tables
    .flatMap(({ name, comment, indexes }) => [
      `  COMMENT ON TABLE {schema}.${name} IS '${comment}';`,
      ...indexes.map((index) => `  COMMENT ON INDEX {schema}.${index.name} IS '${index.comment}';`),
    ])
    .join('\n')
}

/**
 * Creates the types that newer code looks for, see `markerType`. If the first is missing, the schema is older or was
 * renamed, and events get new numbers of locks. Types of another name go: code that uses it must not run if the schema
 * gets it again.
 */
function markersBlock(version: number, schema: SchemaName): string {
  const markers = Array.from({ length: version - 1 }, (_, index) => markerType(index + 2, schema))
  const number = lockOf(objectValueIn('e.object', 'bucket'), objectValueIn('e.object', 'key'))
  const create = (
    marker: string,
    andThen = '',
  ) => `  IF NOT EXISTS (SELECT FROM ${TYPES} AND t.typname = '${marker}') THEN
    CREATE DOMAIN {schema}.${marker} AS int;${andThen}
  END IF;
`
  const renumber = `
    UPDATE {schema}.events e SET object_number = ${number} WHERE e.object_number <> ${number};`
  return `  FOR marker IN
    SELECT t.typname FROM ${TYPES} AND t.typtype = 'd' AND t.typname ~ '^schema_v[0-9]'
      AND t.typname NOT IN (${markers.map((marker) => `'${marker}'`).join(', ')})
  LOOP
    EXECUTE format('DROP DOMAIN %I.%I', {schema-literal}, marker);
  END LOOP;
${markers.map((marker, index) => create(marker, index === 0 ? renumber : '')).join('')}`
}

/** Builds the text of `postgresSchema()`, with comments that name what to add beforehand to avoid blocking writers. */
export function schemaText(definition: Schema, schema: SchemaName, events: boolean | null = null): string {
  const blocks = [migrationBlock(definition, schema)]
  if (events !== null) blocks.push(switchEventsText(events, schema, { found: null, isPatient: true }))
  return `${notes(definition, schema)}${blocks.join(';\n')};`
}

function notes({ tables }: Schema, schema: SchemaName): string {
  const additions = tables.flatMap(additionsTo).filter(({ isLater }) => isLater)
  const statements = additions.map((addition) => `${concurrentText(addition, schema)};`)
  const drops = additions.flatMap(({ index }) => (index ? [`${dropIndexText(index, schema)};`] : []))
  return comment(`Run this text in one transaction. It blocks writers of a table while it builds an index of it.

If a table is large, first add its columns and build its indexes without blocking writers. Run each statement alone,
outside a transaction. Skip those whose table does not exist yet. ALTER TABLE needs a moment without other transactions
on the table: run it after SET lock_timeout = '200ms', and repeat it if it fails.

${statements.join('\n')}

An interrupted CREATE INDEX leaves an invalid index behind, and this text then fails with its name. Drop that index and
build it again:

${drops.join('\n')}`)
}

/** Comments out every line, also those that a line break in the name of the schema begins. */
function comment(text: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => (line === '' ? '--\n' : `-- ${line}\n`))
    .join('')
}
