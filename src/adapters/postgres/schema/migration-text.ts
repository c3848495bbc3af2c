import { inSchema, type SchemaName } from './schema-name.js'
import type { ConcurrentIndexStep, MigrationStep, TransactionStep } from './steps.js'

/** Setting of the transaction by which the text tells what version it found; nobody else reads it. */
const FOUND_VERSION = 'svc_db.found_version'

/** Reads what {@link migrationBlock} found, within the same transaction. */
export const READ_FOUND_VERSION = `SELECT current_setting('${FOUND_VERSION}')`

/**
 * All versions of the library lock the same two numbers for a schema. Keys are locked by one big number, which Postgres
 * keeps apart from pairs.
 */
const LOCK = `pg_advisory_xact_lock(hashtext('@svc/db migration'), hashtext({schema-literal}))`

/**
 * One statement that takes the schema through these steps, from whatever version it has. It runs in any transaction and
 * any number of times: what is done is not done again.
 */
export function migrationBlock(steps: readonly TransactionStep[], schema: SchemaName): string {
  return inSchema(
    `DO $migration$
DECLARE
  found_version int := 0;
  found_again int;
BEGIN
  IF version() LIKE '%CockroachDB%' THEN
    RAISE EXCEPTION 'CockroachDB is not supported: its advisory locks lock nothing' USING ERRCODE = 'SD001';
  END IF;
  IF current_setting('server_encoding') <> 'UTF8' THEN
    RAISE EXCEPTION 'the database must have the encoding UTF8' USING ERRCODE = 'SD002';
  END IF;
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'a migration needs the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;

  -- First the lock, and only then a look at what is there: each statement after it sees what others did until now.
  PERFORM ${LOCK};
  -- IF NOT EXISTS would demand the right to create schemas where one is there already.
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = {schema-literal}) THEN
    CREATE SCHEMA {schema};
  END IF;
  IF NOT EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = {schema-literal} AND c.relname = 'schema_version'
  ) THEN
    CREATE TABLE {schema}.schema_version (
      only_row boolean NOT NULL DEFAULT true,
      version int NOT NULL,
      min_compatible int NOT NULL,
      -- Until when a process that is about to build an index has the first go.
      build_claimed_until timestamptz,
      CONSTRAINT schema_version_pkey PRIMARY KEY (only_row),
      CONSTRAINT schema_version_only_row CHECK (only_row)
    );
    INSERT INTO {schema}.schema_version (version, min_compatible) VALUES (0, 0);
  END IF;
  SELECT v.version INTO STRICT found_version FROM {schema}.schema_version v;
  PERFORM set_config('${FOUND_VERSION}', found_version::text, true);
${steps.map(stepBlock).join('')}END
$migration$`,
    schema,
  )
}

/** A step runs only on the version right before it, and the version moves only from there. */
function stepBlock({ version, minCompatible, sql }: TransactionStep): string {
  return `
  SELECT v.version INTO STRICT found_again FROM {schema}.schema_version v;
  IF found_again = ${version - 1} THEN
    EXECUTE $step_${version}$${sql}$step_${version}$;
${moveTo(version, minCompatible)}
  END IF;
`
}

function moveTo(version: number, minCompatible: number): string {
  return `    UPDATE {schema}.schema_version v SET version = ${version}, min_compatible = ${minCompatible} WHERE v.version = ${version - 1};
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the schema version was changed by somebody who does not hold the lock' USING ERRCODE = '40001';
    END IF;`
}

/** Builds the index of a step. It can't run in a transaction, nor beside another statement in one text. */
export function concurrentIndexText(step: ConcurrentIndexStep, schema: SchemaName): string {
  const { unique, index, table, definition } = step
  return inSchema(
    `CREATE ${unique ? 'UNIQUE ' : ''}INDEX CONCURRENTLY IF NOT EXISTS ${index} ON {schema}.${table} ${definition}`,
    schema,
  )
}

export function dropIndexText({ index }: ConcurrentIndexStep, schema: SchemaName): string {
  return inSchema(`DROP INDEX CONCURRENTLY IF EXISTS {schema}.${index}`, schema)
}

/** Moves on from the step of a concurrent index: only if the index is there and valid, and nobody has moved on before. */
export function concurrentIndexDoneBlock(step: ConcurrentIndexStep, schema: SchemaName): string {
  const { version, minCompatible, index } = step
  return inSchema(
    `DO $migration$
DECLARE
  found_version int;
BEGIN
  PERFORM ${LOCK};
  SELECT v.version INTO STRICT found_version FROM {schema}.schema_version v;
  IF found_version = ${version - 1} THEN
    IF NOT EXISTS (
      SELECT FROM pg_catalog.pg_index i
      JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = {schema-literal} AND c.relname = '${index}' AND i.indisvalid
    ) THEN
      RAISE EXCEPTION 'the index ${index} is missing or not valid' USING ERRCODE = '55000';
    END IF;
${moveTo(version, minCompatible)}
  END IF;
END
$migration$`,
    schema,
  )
}

/** Neighbouring steps that share a transaction, and between them the ones that can't be in one. */
export function stretches(
  steps: readonly MigrationStep[],
): (readonly TransactionStep[] | ConcurrentIndexStep)[] {
  const parts: (TransactionStep[] | ConcurrentIndexStep)[] = []
  for (const step of steps) {
    const last = parts.at(-1)
    if (step.kind === 'concurrent-index') parts.push(step)
    else if (Array.isArray(last)) last.push(step)
    else parts.push([step])
  }
  return parts
}

/** The whole way as text, for a migration tool of the user's own; {@link migrationBlock} and what can't be in one. */
export function schemaText(steps: readonly MigrationStep[], schema: SchemaName): string {
  return stretches(steps)
    .flatMap((part) =>
      'kind' in part
        ? [
            `-- Outside a transaction, and again after DROP INDEX CONCURRENTLY where it was interrupted.`,
            `${concurrentIndexText(part, schema)};`,
            `${concurrentIndexDoneBlock(part, schema)};`,
          ]
        : [`${migrationBlock(part, schema)};`],
    )
    .join('\n')
}
