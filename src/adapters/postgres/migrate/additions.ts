import { inSchema, type SchemaName } from '../sql/statement.js'
import { columnsOf, relation, type Index, type Table } from '../sql/tables.js'

/** The SQL of columns or an index that a table, which may be large and in use, can lack. */
export interface Addition {
  readonly table: string
  /** `null` for columns. */
  readonly index: Index | null
  /** Whether a version after the one that created the table added it. */
  readonly isLater: boolean
  /** A condition. A table that is missing lacks no columns, because it will be created with all of them. */
  readonly isMissing: string
  readonly statement: string
}

/** Returns the columns that were added to a table, and all its indexes, because any of them may have been dropped. */
export function additionsTo(table: Table): Addition[] {
  const added = Object.entries(table.columns).filter(([, column]) => typeof column !== 'string')
  const columns = added.length === 0 ? [] : [columnsTo(table, Object.fromEntries(added))]
  return [...columns, ...table.indexes.map((index) => indexOn(table, index))]
}

function columnsTo({ name: table }: Table, columns: Table['columns']): Addition {
  const names = Object.keys(columns).map((name) => `'${name}'`)
  const clauses = columnsOf({ columns }).map((column) => `ADD COLUMN IF NOT EXISTS ${column.join(' ')}`)
  const statement = `ALTER TABLE {schema}.${table} ${clauses.join(', ')}`
  const isMissing = `EXISTS (
      SELECT FROM ${relation(table)} WHERE (
        SELECT count(*) FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attname IN (${names.join(', ')})
      ) < ${names.length})`
  return { table, index: null, isLater: true, isMissing, statement }
}

function indexOn({ name: table, since }: Table, index: Index): Addition {
  return {
    table,
    index,
    isLater: (index.since ?? since) > since,
    isMissing: `NOT EXISTS (${findIndex(index)})`,
    statement: createIndex(table, index),
  }
}

export function createIndex(table: string, { name, definition, isUnique }: Index, option = ''): string {
  return `CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX ${option}${name} ON {schema}.${table} USING ${definition}`
}

const findIndex = ({ name }: Index) => `
      SELECT FROM pg_catalog.pg_index i JOIN (${relation(name)}) ON c.oid = i.indexrelid`

/** Builds a statement that makes the addition without blocking writers, outside a transaction. */
export function concurrentText({ table, index, statement }: Addition, schema: SchemaName): string {
  return inSchema(index ? createIndex(table, index, 'CONCURRENTLY IF NOT EXISTS ') : statement, schema)
}

export function dropIndexText({ name }: Index, schema: SchemaName): string {
  return inSchema(`DROP INDEX CONCURRENTLY IF EXISTS {schema}.${name}`, schema)
}

/**
 * Builds PL/pgSQL that locks the tables of missing additions in the order of the writers, to avoid deadlocks with them.
 * Adding columns needs the strongest lock; asking for it later could deadlock too.
 */
export function lockBlock(additions: readonly Addition[]): string {
  const locks = [...new Set(additions.map(({ table }) => table))].map((name) => {
    const addsColumns = additions.some(({ table, index }) => table === name && index === null)
    return `LOCK TABLE {schema}.${name} IN ${addsColumns ? 'ACCESS EXCLUSIVE' : 'EXCLUSIVE'} MODE;`
  })
  return `    IF ${additions.map(({ isMissing }) => isMissing).join(' OR ')} THEN
      ${locks.join('\n      ')}
    END IF;
`
}

/** Builds PL/pgSQL that makes an addition, unless it exists. IF NOT EXISTS would wait for writers in any case. */
export function additionBlock({ index, isMissing, statement }: Addition): string {
  const refusal = index === null ? '' : refuseInvalid(index)
  return `${refusal}    IF ${isMissing} THEN
      ${statement};
    END IF;
`
}

function refuseInvalid(index: Index): string {
  const name = `pg_catalog.format('%I.${index.name}', {schema-literal})`
  return `    IF EXISTS (${findIndex(index)} AND NOT i.indisvalid) THEN
      RAISE EXCEPTION 'the index % is invalid, because CREATE INDEX CONCURRENTLY was interrupted', ${name}
        USING ERRCODE = '55000', HINT = 'Drop it first: DROP INDEX CONCURRENTLY ' || ${name};
    END IF;
`
}

/** Milliseconds to wait for the lock of a table. All other transactions of the table wait behind it. */
const TABLE_LOCK_TIMEOUT = 100

interface TableChange extends Readonly<Record<'isNeeded' | 'change', string>> {
  readonly isPatient?: boolean
  /** Runs before the condition is checked. */
  readonly before?: string
}

/** Builds one statement that makes a needed change, and fails without the lock in time, unless `isPatient`. */
export function changeText(schema: SchemaName, options: TableChange): string {
  const { isNeeded, change, isPatient = false, before = '' } = options
  const limit = isPatient ? '' : `PERFORM set_config('lock_timeout', '${TABLE_LOCK_TIMEOUT}ms', true);`
  return inSchema(
    `DO $change$
DECLARE
  previous text := current_setting('lock_timeout');
BEGIN
  ${before}
  IF ${isNeeded} THEN
    ${limit}
    ${change}
    PERFORM set_config('lock_timeout', previous, true);
  END IF;
END
$change$`,
    schema,
  )
}
