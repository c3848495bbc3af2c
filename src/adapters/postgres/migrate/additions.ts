import type { Index, Table } from '../sql/tables.js'
import { inSchema, type SchemaName } from '../sql/statement.js'

/** What later versions add to a table that may be large and in use. */
export type Addition = AddedColumns | AddedIndex

export interface AddedColumns {
  readonly kind: 'columns'
  readonly table: string
  readonly columns: Readonly<Record<string, string>>
}

export interface AddedIndex {
  readonly kind: 'index'
  readonly table: string
  readonly index: Index
}

/** Returns what was added to tables after the version that created them. */
export function laterAdditions(tables: readonly Table[]): Addition[] {
  return tables.flatMap((table) =>
    additionsTo(table).filter(
      (addition) => addition.kind === 'columns' || (addition.index.since ?? table.since) > table.since,
    ),
  )
}

/** Returns the columns that were added to a table, and all its indexes, because one of the first may have been dropped. */
export function additionsTo({ name: table, since, columns, indexes }: Table): Addition[] {
  const added = Object.entries(columns).flatMap(([name, column]) =>
    typeof column !== 'string' && column.since > since ? [[name, column.type] as const] : [],
  )
  const additions: Addition[] = indexes.map((index) => ({ kind: 'index', table, index }))
  return added.length === 0
    ? additions
    : [{ kind: 'columns', table, columns: Object.fromEntries(added) }, ...additions]
}

/**
 * Builds PL/pgSQL that locks the tables of missing additions in the order of the writers. Locked one by one, in the
 * order of the additions, each would wait for the table that the other one has. Reads of objects continue.
 */
export function lockBlock(additions: readonly Addition[]): string {
  const tables = [...new Set(additions.map(({ table }) => table))]
  return `    IF ${additions.map(isMissing).join(' OR ')} THEN
      ${tables.map((table) => lockTable(table, additions)).join('\n      ')}
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
  const name = `pg_catalog.format('%I.${index.name}', {schema-literal})`
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
  return inSchema(`DROP INDEX CONCURRENTLY IF EXISTS {schema}.${index.name}`, schema)
}

function addColumns({ table, columns }: AddedColumns): string {
  const clauses = Object.entries(columns).map(([name, type]) => `ADD COLUMN IF NOT EXISTS ${name} ${type}`)
  return `ALTER TABLE {schema}.${table} ${clauses.join(', ')}`
}

/** A table that is missing lacks none, because it will be created with all of them. */
function lacksColumns({ table, columns }: AddedColumns): string {
  const names = Object.keys(columns)
  return `EXISTS (
      SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = {schema-literal} AND c.relname = '${table}' AND (
        SELECT count(*) FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attname IN (${names.map((name) => `'${name}'`).join(', ')})
      ) < ${names.length})`
}

export function createIndex({ table, index }: Omit<AddedIndex, 'kind'>, option = ''): string {
  const kind = index.isUnique ? 'UNIQUE INDEX' : 'INDEX'
  return `CREATE ${kind} ${option}${index.name} ON {schema}.${table} USING ${index.definition}`
}

const findIndex = ({ name }: Index) => `
      SELECT FROM pg_catalog.pg_index i
      JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = {schema-literal} AND c.relname = '${name}'`
