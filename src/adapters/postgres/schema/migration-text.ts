import { additionBlock, concurrentText, dropIndexText, lockBlock } from './addition-text.js'
import { switchEventsText } from './events-switch.js'
import { MIGRATION_LOCK } from './migration-lock.js'
import { inSchema, type SchemaName } from './schema-name.js'
import type { Addition, MigrationStep } from './migration-step.js'

/**
 * A setting of the transaction that passes the version which {@link migrationBlock} found to {@link
 * READ_FOUND_VERSION}.
 */
const FOUND_VERSION = 'svc_db.found_version'

/** Reads the version that {@link migrationBlock} found, within the same transaction. */
export const READ_FOUND_VERSION = `SELECT current_setting('${FOUND_VERSION}')`

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

export interface MigrationBlockOptions {
  /** Does nothing unless the schema is empty, because the text would block writers of an existing one. */
  readonly onlyIfEmpty?: boolean
}

/**
 * Builds one statement that takes the schema through these steps from any earlier version. It runs in any transaction
 * and may run again: it skips what is done. It builds missing indexes in the same transaction, which blocks writers.
 */
export function migrationBlock(
  steps: readonly MigrationStep[],
  schema: SchemaName,
  { onlyIfEmpty = false }: MigrationBlockOptions = {},
): string {
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
  PERFORM ${MIGRATION_LOCK};
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
${onlyIfEmpty ? RETURN_UNLESS_EMPTY : ''}${steps.map(stepBlock).join('')}END
$migration$`,
    schema,
  )
}

const RETURN_UNLESS_EMPTY = `  IF found_version > 0 THEN
    RETURN;
  END IF;
`

/** Runs a step only on the version right before it. */
function stepBlock({ version, minCompatible, additions, sql }: MigrationStep): string {
  // Statements of this version mention the type, so that newer code fails on an older schema. Version 1 has its tables.
  const marker = version === 1 ? '' : `\n    CREATE DOMAIN {schema}.${markerType(version)} AS int;`
  return `
  SELECT v.version INTO STRICT found_again FROM {schema}.schema_version v;
  IF found_again = ${version - 1} THEN
${lockBlock(additions)}${additions.map(additionBlock).join('')}    EXECUTE $step_${version}$${sql}$step_${version}$;
    UPDATE {schema}.schema_version v SET version = ${version}, min_compatible = ${minCompatible} WHERE v.version = ${version - 1};
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the schema version was changed without the migration lock' USING ERRCODE = '40001';
    END IF;${marker}
  END IF;
`
}

/** Returns the name of the type that exists from this schema version on. */
export function markerType(version: number): string {
  return `schema_v${version}`
}

/**
 * Builds the text of `postgresSchema()`: everything that `migrate()` does, for one transaction of another migration
 * tool. Its comments name what to add beforehand where blocking writers is not acceptable.
 */
export function schemaText(
  steps: readonly MigrationStep[],
  schema: SchemaName,
  events: boolean | null = null,
): string {
  const additions = steps.flatMap((step) => step.additions)
  const comments = additions.length === 0 ? '' : notes(additions, schema)
  const blocks = [migrationBlock(steps, schema)]
  if (events !== null) blocks.push(switchEventsText(events, schema, { found: null, milliseconds: null }))
  return `${comments}${blocks.join(';\n')};`
}

function notes(additions: readonly Addition[], schema: SchemaName): string {
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
