import { inSchema, type SchemaName } from './schema-name.js'
import type { AddedColumns, AddedIndex, Addition } from './migration-step.js'

/** The order in which every write first locks the tables: an object's rows before the leftovers that they become. */
const LOCK_ORDER = ['objects', 'leftovers']

/**
 * Builds PL/pgSQL that locks the tables of missing additions in the order of the writers. Locked one by one, in the
 * order of the additions, each would wait for the table that the other one has. Reads of objects continue.
 */
export function lockBlock(additions: readonly Addition[]): string {
  if (additions.length === 0) return ''
  const tables = [...new Set(additions.map(({ table }) => table))]
  const place = (table: string) => LOCK_ORDER.indexOf(table)
  const locks = tables.sort((a, b) => place(a) - place(b)).map((table) => lockTable(table, additions))
  return `    IF ${additions.map(isMissing).join(' OR ')} THEN
      ${locks.join('\n      ')}
    END IF;
`
}

/** Adding columns needs the strongest lock, and asking for a stronger one later could deadlock. */
function lockTable(table: string, additions: readonly Addition[]): string {
  const addsColumns = additions.some((addition) => addition.table === table && addition.kind === 'columns')
  return `LOCK TABLE {schema}.${table} IN ${addsColumns ? 'ACCESS EXCLUSIVE' : 'EXCLUSIVE'} MODE;`
}

function isMissing(addition: Addition): string {
  return addition.kind === 'columns' ? lacksColumns(addition) : `NOT EXISTS (${findIndex(addition.index)})`
}

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
