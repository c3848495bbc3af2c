import { inSchema, type SchemaName } from '../sql/statement.js'
import { markerType, type Schema } from '../sql/schema.js'
import { VACUUM_SETTINGS, VERSION_TABLE, type CompositeType, type Table } from '../sql/tables.js'
import {
  additionBlock,
  laterAdditions,
  concurrentText,
  createIndex,
  dropIndexText,
  lockBlock,
} from './additions.js'
import { switchEventsText } from './events-switch.js'
import { MIGRATION_LOCK } from '../sql/fragments.js'

/**
 * A setting of the transaction that passes the version which {@link migrationBlock} found to {@link
 * READ_FOUND_VERSION}.
 */
const FOUND_VERSION = 'svc_db.found_version'

/** Reads the version that {@link migrationBlock} found, within the same transaction. */
export const READ_FOUND_VERSION = `SELECT current_setting('${FOUND_VERSION}')`

export interface MigrationBlockOptions {
  /** Does nothing unless the schema is empty, because the text would block writers of an existing one. */
  readonly onlyIfEmpty?: boolean
}

/**
 * Builds one statement that takes the schema from any earlier version to this one. It runs in any transaction and may
 * run again: it skips what is done. It builds missing indexes in the same transaction, which blocks writers.
 */
export function migrationBlock(
  { version, minCompatible, tables, types, functions }: Schema,
  schema: SchemaName,
  { onlyIfEmpty = false }: MigrationBlockOptions = {},
): string {
  return inSchema(
    `DO $migration$
DECLARE
  found_version int := 0;
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
  IF NOT EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = {schema-literal} AND c.relname = 'schema_version'
  ) THEN
${createTable(VERSION_TABLE)}    INSERT INTO {schema}.schema_version (version, min_compatible) VALUES (0, 0);
  END IF;
  SELECT v.version INTO STRICT found_version FROM {schema}.schema_version v;
  PERFORM set_config('${FOUND_VERSION}', found_version::text, true);
  IF found_version ${onlyIfEmpty ? '> 0' : `>= ${version}`} THEN
    RETURN;
  END IF;

${versionsOf([...tables, ...types])
  .map((since) => newBlock(since, tables, types))
  .join('')}${additionsBlock(tables)}
  EXECUTE $functions$${functions}$functions$;
${commentsBlock([VERSION_TABLE, ...tables])}${VACUUM_SETTINGS}

  UPDATE {schema}.schema_version v SET version = ${version}, min_compatible = ${minCompatible}
  WHERE v.version = found_version;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the schema version was changed without the migration lock' USING ERRCODE = '40001';
  END IF;
${markersBlock(version)}END
$migration$`,
    schema,
  )
}

/** Creates the tables and types that a version added. */
function newBlock(since: number, tables: readonly Table[], types: readonly CompositeType[]): string {
  const isNew = (one: { readonly since: number }) => one.since === since
  return `  IF found_version < ${since} THEN
${[...tables.filter(isNew).map(createTable), ...types.filter(isNew).map(createType)].join('')}  END IF;
`
}

/** Adds to the tables of earlier versions. Nothing is missing in those that were created just now. */
function additionsBlock(tables: readonly Table[]): string {
  const additions = laterAdditions(tables)
  return `${lockBlock(additions)}${additions.map(additionBlock).join('')}`
}

const versionsOf = (additions: readonly { readonly since: number }[]) =>
  [...new Set(additions.map(({ since }) => since))].sort((a, b) => a - b)

const createType = ({ name, columns }: CompositeType) => `    CREATE TYPE {schema}.${name} AS (${columns});\n`

function createTable({ name, columns, primaryKey, checks = {}, indexes, settings }: Table): string {
  const lines = [
    ...Object.entries(columns).map(
      ([column, type]) => `${column} ${typeof type === 'string' ? type : type.type}`,
    ),
    `CONSTRAINT ${name}_pkey PRIMARY KEY (${primaryKey})`,
    ...Object.entries(checks).map(([check, condition]) => `CONSTRAINT ${check} ${condition}`),
  ]
  const storage = settings === undefined ? '' : ` WITH (${settings})`
  return `    CREATE TABLE {schema}.${name} (
      ${lines.join(',\n      ')}
    )${storage};
${indexes.map((index) => `    ${createIndex({ table: name, index })};\n`).join('')}`
}

function commentsBlock(tables: readonly Table[]): string {
  return tables
    .flatMap(({ name, comment, indexes }) => [
      `  COMMENT ON TABLE {schema}.${name} IS '${comment}';`,
      ...indexes.map((index) => `  COMMENT ON INDEX {schema}.${index.name} IS '${index.comment}';`),
    ])
    .join('\n')
}

/** Creates the types that newer code looks for. Version 1 has its tables. */
function markersBlock(version: number): string {
  return Array.from({ length: version - 1 }, (_, index) => index + 2)
    .map(
      (each) => `  IF found_version < ${each} THEN
    CREATE DOMAIN {schema}.${markerType(each)} AS int;
  END IF;
`,
    )
    .join('')
}

/**
 * Builds the text of `postgresSchema()`: everything that `migrate()` does, for one transaction of another migration
 * tool. Its comments name what to add beforehand where blocking writers is not acceptable.
 */
export function schemaText(definition: Schema, schema: SchemaName, events: boolean | null = null): string {
  const blocks = [migrationBlock(definition, schema)]
  if (events !== null) blocks.push(switchEventsText(events, schema, { found: null, milliseconds: null }))
  return `${notes(definition, schema)}${blocks.join(';\n')};`
}

function notes({ tables }: Schema, schema: SchemaName): string {
  const additions = laterAdditions(tables)
  const indexes = additions.filter((addition) => addition.kind === 'index')
  return comment(`Run this text in one transaction. It blocks writers of a table while it builds an index of it.

If a table is large, first add its columns and build its indexes without blocking writers. Run each statement alone,
outside a transaction. Skip those whose table does not exist yet. ALTER TABLE needs a moment without other transactions
on the table: run it after SET lock_timeout = '200ms', and repeat it if it fails.

${additions.map((addition) => `${concurrentText(addition, schema)};`).join('\n')}

An interrupted CREATE INDEX leaves an invalid index behind, and this text then fails with its name. Drop that index and
build it again:

${indexes.map((index) => `${dropIndexText(index, schema)};`).join('\n')}`)
}

/** Comments out every line. The name of a schema may contain a line break, which must not end the comment. */
function comment(text: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => (line === '' ? '--\n' : `-- ${line}\n`))
    .join('')
}
