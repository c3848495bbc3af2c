import { inSchema, type SchemaName } from './schema-name.js'
import type { ConcurrentIndexStep, MigrationStep } from './steps.js'

/**
 * A setting of the transaction that passes the version which {@link migrationBlock} found to {@link
 * READ_FOUND_VERSION}.
 */
const FOUND_VERSION = 'svc_db.found_version'

/** Reads the version that {@link migrationBlock} found, within the same transaction. */
export const READ_FOUND_VERSION = `SELECT current_setting('${FOUND_VERSION}')`

/**
 * All versions of the library lock the same pair of numbers for a schema. Locks of keys use one large number, and
 * Postgres keeps the two kinds apart.
 */
const LOCK = `pg_advisory_xact_lock(hashtext('@svc/db migration'), hashtext({schema-literal}))`

/** The table that holds the schema version, in its only row. */
export const VERSION_TABLE = `
    CREATE TABLE {schema}.schema_version (
      only_row boolean NOT NULL DEFAULT true,
      version int NOT NULL,
      min_compatible int NOT NULL,
      -- Until then only the process that claimed it may start to build an index.
      build_claimed_until timestamptz,
      CONSTRAINT schema_version_pkey PRIMARY KEY (only_row),
      CONSTRAINT schema_version_only_row CHECK (only_row)
    );`

/**
 * Builds one statement that takes the schema through these steps from any earlier version. It runs in any transaction
 * and may run again: it skips steps that are done. Indexes are built in the same transaction, which blocks writers.
 */
export function migrationBlock(steps: readonly MigrationStep[], schema: SchemaName): string {
  return inSchema(
    `DO $migration$
DECLARE
  found_version int := 0;
  found_again int;
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
  PERFORM ${LOCK};
  -- IF NOT EXISTS would require the right to create schemas even if the schema exists.
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = {schema-literal}) THEN
    CREATE SCHEMA {schema};
  END IF;
  IF NOT EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = {schema-literal} AND c.relname = 'schema_version'
  ) THEN${VERSION_TABLE}
    INSERT INTO {schema}.schema_version (version, min_compatible) VALUES (0, 0);
  END IF;
  SELECT v.version INTO STRICT found_version FROM {schema}.schema_version v;
  PERFORM set_config('${FOUND_VERSION}', found_version::text, true);
${steps.map(stepBlock).join('')}END
$migration$`,
    schema,
  )
}

/** Runs a step only on the version right before it. */
function stepBlock(step: MigrationStep): string {
  const { version } = step
  const sql = step.kind === 'transaction' ? step.sql : indexText(step)
  return `
  SELECT v.version INTO STRICT found_again FROM {schema}.schema_version v;
  IF found_again = ${version - 1} THEN
${step.kind === 'transaction' ? '' : refuseInvalidIndex(step)}    EXECUTE $step_${version}$${sql}$step_${version}$;
${moveTo(step)}
  END IF;
`
}

function moveTo({ version, minCompatible }: MigrationStep): string {
  // Statements of this version mention the type, so that newer code fails on an older schema. Version 1 has its tables.
  const marker = version === 1 ? '' : `\n    CREATE DOMAIN {schema}.${markerType(version)} AS int;`
  return `    UPDATE {schema}.schema_version v SET version = ${version}, min_compatible = ${minCompatible} WHERE v.version = ${version - 1};
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the schema version was changed without the migration lock' USING ERRCODE = '40001';
    END IF;${marker}`
}

/** Returns the name of the type that exists from this schema version on. */
export function markerType(version: number): string {
  return `schema_v${version}`
}

/** Without this check, IF NOT EXISTS would accept an index that Postgres does not use. */
function refuseInvalidIndex({ index }: ConcurrentIndexStep): string {
  const name = `pg_catalog.format('%I.${index}', {schema-literal})`
  return `    IF EXISTS (${findIndex(index)} AND NOT i.indisvalid) THEN
      RAISE EXCEPTION 'the index % is invalid, because CREATE INDEX CONCURRENTLY was interrupted', ${name}
        USING ERRCODE = '55000', HINT = 'Drop it first: DROP INDEX CONCURRENTLY ' || ${name};
    END IF;
`
}

const findIndex = (index: string) => `
      SELECT FROM pg_catalog.pg_index i
      JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = {schema-literal} AND c.relname = '${index}'`

function indexText({ unique, index, table, definition }: ConcurrentIndexStep, option = ''): string {
  return `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${option}IF NOT EXISTS ${index} ON {schema}.${table} ${definition}`
}

/** Builds the index of a step without blocking writers. Must run alone, outside a transaction. */
export function concurrentIndexText(step: ConcurrentIndexStep, schema: SchemaName): string {
  return inSchema(indexText(step, 'CONCURRENTLY '), schema)
}

export function dropIndexText({ index }: ConcurrentIndexStep, schema: SchemaName): string {
  return inSchema(`DROP INDEX CONCURRENTLY IF EXISTS {schema}.${index}`, schema)
}

/** Moves to the version of a concurrent index, if the index is valid and no other process has moved yet. */
export function concurrentIndexDoneBlock(step: ConcurrentIndexStep, schema: SchemaName): string {
  const { version, index } = step
  return inSchema(
    `DO $migration$
DECLARE
  found_version int;
BEGIN
  PERFORM ${LOCK};
  SELECT v.version INTO STRICT found_version FROM {schema}.schema_version v;
  IF found_version = ${version - 1} THEN
    IF NOT EXISTS (${findIndex(index)} AND i.indisvalid) THEN
      RAISE EXCEPTION 'the index ${index} is missing or invalid' USING ERRCODE = '55000';
    END IF;
${moveTo(step)}
  END IF;
END
$migration$`,
    schema,
  )
}

/**
 * Builds the text of `postgresSchema()`: everything that `migrate()` does, for one transaction of another migration
 * tool. Its comments name the indexes to build beforehand where blocking writers is not acceptable.
 */
export function schemaText(steps: readonly MigrationStep[], schema: SchemaName): string {
  const indexes = steps.filter((step) => step.kind === 'concurrent-index')
  return `${indexes.length === 0 ? '' : indexNotes(indexes, schema)}${migrationBlock(steps, schema)};`
}

function indexNotes(steps: readonly ConcurrentIndexStep[], schema: SchemaName): string {
  return comment(`Run this text in one transaction. It blocks writers of a table while it builds an index of it.

If a table is large, build its indexes first, without blocking writers. Run each statement alone, outside a transaction.
Skip those whose table or column does not exist yet.

${steps.map((step) => `${concurrentIndexText(step, schema)};`).join('\n')}

An interrupted statement leaves an invalid index behind, and this text then fails with its name. Drop that index and
build it again:

${steps.map((step) => `${dropIndexText(step, schema)};`).join('\n')}`)
}

/** Comments out every line. The name of a schema may contain a line break, which must not end the comment. */
function comment(text: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => (line === '' ? '--\n' : `-- ${line}\n`))
    .join('')
}
