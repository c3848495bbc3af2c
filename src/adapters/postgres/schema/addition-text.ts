import { inSchema, type SchemaName } from './schema-name.js'
import type { AddedColumns, AddedIndex, Addition } from './migration-step.js'

/**
 * Builds PL/pgSQL that makes an addition within the current transaction, unless it exists. It looks first, because
 * IF NOT EXISTS locks the table, and so waits for its writers, even if there is nothing to add.
 */
export function additionBlock(addition: Addition): string {
  if (addition.kind === 'columns') {
    return `    IF ${lacksColumns(addition)} THEN
      ${addColumns(addition)};
    END IF;
`
  }
  // IF NOT EXISTS would also accept an index that Postgres does not use.
  const { index } = addition
  const name = `pg_catalog.format('%I.${index}', {schema-literal})`
  return `    IF EXISTS (${findIndex(index)} AND NOT i.indisvalid) THEN
      RAISE EXCEPTION 'the index % is invalid, because CREATE INDEX CONCURRENTLY was interrupted', ${name}
        USING ERRCODE = '55000', HINT = 'Drop it first: DROP INDEX CONCURRENTLY ' || ${name};
    END IF;
    IF NOT EXISTS (${findIndex(index)}) THEN
      ${createIndex(addition)};
    END IF;
`
}

/**
 * Builds one statement that adds columns, unless they exist, and gives up after `milliseconds` without the table's
 * lock. While it waits for a transaction that uses the table, all later transactions wait behind it.
 */
export function promptColumnsText(addition: AddedColumns, milliseconds: number, schema: SchemaName): string {
  return inSchema(
    `DO $addition$
DECLARE
  previous text := current_setting('lock_timeout');
BEGIN
  IF ${lacksColumns(addition)} THEN
    PERFORM set_config('lock_timeout', '${milliseconds}ms', true);
    ${addColumns(addition)};
    PERFORM set_config('lock_timeout', previous, true);
  END IF;
END
$addition$`,
    schema,
  )
}

/** Builds a statement that makes the addition without blocking writers. An index must be built outside a transaction. */
export function concurrentText(addition: Addition, schema: SchemaName): string {
  return inSchema(
    addition.kind === 'columns' ? addColumns(addition) : createIndex(addition, 'CONCURRENTLY IF NOT EXISTS '),
    schema,
  )
}

export function dropIndexText({ index }: AddedIndex, schema: SchemaName): string {
  return inSchema(`DROP INDEX CONCURRENTLY IF EXISTS {schema}.${index}`, schema)
}

function addColumns({ table, columns }: AddedColumns): string {
  const clauses = Object.entries(columns).map(([name, type]) => `ADD COLUMN IF NOT EXISTS ${name} ${type}`)
  return `ALTER TABLE {schema}.${table} ${clauses.join(', ')}`
}

function lacksColumns({ table, columns }: AddedColumns): string {
  const names = Object.keys(columns)
  return `(
      SELECT count(*) FROM pg_catalog.pg_attribute a
      JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = {schema-literal} AND c.relname = '${table}' AND NOT a.attisdropped
        AND a.attname IN (${names.map((name) => `'${name}'`).join(', ')})
    ) < ${names.length}`
}

function createIndex({ unique, index, table, definition }: AddedIndex, option = ''): string {
  return `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${option}${index} ON {schema}.${table} ${definition}`
}

const findIndex = (index: string) => `
      SELECT FROM pg_catalog.pg_index i
      JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = {schema-literal} AND c.relname = '${index}'`
