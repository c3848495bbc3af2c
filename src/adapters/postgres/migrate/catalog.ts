import type { Database, Statement } from '../connection/database.js'
import type { Schema } from '../sql/schema.js'
import { inSchema, markerType, schemaName, statement, type SchemaName } from '../sql/statement.js'
import { columnsOf, RELATIONS, VERSION_TABLE, type Table } from '../sql/tables.js'
import { TRIGGER_CATALOG } from './events-switch.js'

/** The objects of a schema by name, such as `column objects.id`, each with a description that equal objects share. */
export type Catalog = ReadonlyMap<string, string>

export function readCatalog(database: Database, schema: SchemaName): Promise<Catalog> {
  return read(database, statement('catalog', `${PARTS}\nUNION ALL${DEFINITIONS}`, schema))
}

/** Reads what `migrate()` can restore, without definitions, for which Postgres would lock the tables. */
export function readParts(database: Database, schema: SchemaName): Promise<Catalog> {
  return read(database, statement('parts', `${PARTS}\nUNION ALL${VALID_INDEXES}`, schema))
}

async function read(database: Database, query: Statement): Promise<Catalog> {
  const rows = await database.run(query, [])
  return new Map(rows.map((row) => [row[0]!, row[1]!]))
}

const IN_SCHEMA = `JOIN pg_catalog.pg_namespace n ON n.nspname = {schema-literal}`

/** Removes quotation marks, which `quote_all_identifiers` adds. Our names need none. */
const unquoted = (definition: string) => `replace(${definition}, '"', '')`

// A table with the right columns can still lose rows: an unlogged table is empty after a crash, and a rule can replace a write.
const PARTS = `
  SELECT 'table ' || c.relname,
    CASE c.relpersistence WHEN 'p' THEN 'permanent' ELSE 'not logged' END
      || CASE WHEN EXISTS (
        SELECT FROM pg_catalog.pg_rewrite w WHERE w.ev_class = c.oid AND w.is_instead
      ) THEN ', rules' ELSE '' END
  FROM ${RELATIONS}
  WHERE c.relkind IN ('r', 'p')
UNION ALL
  SELECT 'type ' || c.relname, (
    SELECT string_agg(a.attname || ' ' || ${unquoted('format_type(a.atttypid, a.atttypmod)')}, ', ' ORDER BY a.attname COLLATE "C")
    FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid
  )
  FROM ${RELATIONS}
  WHERE c.relkind = 'c'
UNION ALL
  SELECT 'type ' || t.typname, format_type(t.typbasetype, NULL)
  FROM pg_catalog.pg_type t ${IN_SCHEMA} AND n.oid = t.typnamespace
  WHERE t.typtype = 'd'
UNION ALL
  SELECT 'function ' || p.proname || '(' || ${unquoted('oidvectortypes(p.proargtypes)')} || ')',
    coalesce(array_to_string(p.proconfig, ', '), '') || p.prosrc
  FROM pg_catalog.pg_proc p ${IN_SCHEMA} AND n.oid = p.pronamespace`

const VALID_INDEXES = `
  SELECT 'index ' || c.relname, ''
  FROM ${RELATIONS}
  JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid AND i.indisvalid`

// Index definitions name the schema before USING. A copied trigger may run a function of the original.
const DEFINITIONS = `
  SELECT 'column ' || c.relname || '.' || a.attname,
    ${unquoted('format_type(a.atttypid, a.atttypmod)')}
      || CASE WHEN k.collname = 'C' THEN ' COLLATE "C"' ELSE '' END
      || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
      || CASE a.attidentity WHEN 'a' THEN ' GENERATED ALWAYS AS IDENTITY' ELSE '' END
      || coalesce(' DEFAULT ' || ${unquoted('pg_get_expr(d.adbin, d.adrelid)')}, '')
  FROM ${RELATIONS}
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_catalog.pg_collation k ON k.oid = a.attcollation
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE c.relkind IN ('r', 'p')
UNION ALL
  SELECT 'index ' || c.relname,
    CASE WHEN i.indisunique THEN 'unique ' ELSE '' END
      || ${unquoted(`substring(pg_get_indexdef(c.oid) FROM ' USING (.*)$')`)}
      || CASE WHEN i.indisvalid THEN '' ELSE ' (not valid)' END
  FROM ${RELATIONS}
  JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
UNION ALL
  SELECT 'constraint ' || o.conname, ${unquoted('pg_get_constraintdef(o.oid)')}
  FROM pg_catalog.pg_constraint o ${IN_SCHEMA} AND n.oid = o.connamespace
  WHERE o.contype = 'c'
UNION ALL
  SELECT 'trigger ' || t.tgname,
    ${unquoted(`substring(pg_get_triggerdef(t.oid) FROM ' (AFTER [A-Z]+) ON ')`)}
      || ${unquoted(`substring(pg_get_triggerdef(t.oid) FROM ' FOR EACH ROW( WHEN .*) EXECUTE FUNCTION ')`)}
      || CASE WHEN p.pronamespace = n.oid THEN ' ' ELSE ' another ' END || p.proname
      || CASE t.tgenabled WHEN 'O' THEN '' ELSE ' (not enabled)' END
  FROM pg_catalog.pg_trigger t
  JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid ${IN_SCHEMA} AND n.oid = c.relnamespace
  JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
  WHERE NOT t.tgisinternal`

/** Returns the catalog of a migrated schema, with events on or off. */
export function expectedCatalog(
  { version, tables, types, functions }: Schema,
  schema: SchemaName,
  { events }: { readonly events: boolean },
): Catalog {
  return new Map([
    ...(events ? TRIGGER_CATALOG : []),
    ...[VERSION_TABLE, ...tables].flatMap(entriesOf),
    ...types.map(({ name, columns }) => [`type ${name}`, sorted(columns)] as const),
    ...Array.from(
      { length: version - 1 },
      (_, index) => [`type ${markerType(index + 2, schema)}`, 'integer'] as const,
    ),
    ...[...functions.matchAll(FUNCTION)].map(
      ([, name, parameters, clauses, body]) =>
        [
          `function ${name}(${typesOf(parameters!)})`,
          settingsOf(clauses!) + inSchema(body!, schema),
        ] as const,
    ),
  ])
}

export type Difference = ReturnType<typeof differences>[number]

/** Returns how a catalog differs from that of a migrated schema. More objects are no difference. */
export function differences(found: Catalog, wanted: Catalog) {
  return [...wanted]
    .map(([name, expected]) => ({ name, expected, actual: found.get(name) }))
    .filter(({ name, expected, actual }) =>
      actual === undefined || !name.startsWith('function ')
        ? actual !== expected
        : withoutLayout(actual) !== withoutLayout(expected),
    )
}

/** Drops comments and folds white space, which a migration tool may have changed. */
function withoutLayout(body: string): string {
  return body
    .replace(/--[^\n]*/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/**
 * Returns the name that the schema had when it was migrated: that of the tables in its own functions, of whichever release. `null` if it
 * has none.
 */
export function nameInFunctions(found: Catalog, { functions }: Schema): SchemaName | null {
  const own = new Set(Array.from(functions.matchAll(FUNCTION), ([, name]) => name!))
  for (const [entry, body] of found) {
    const [, name] = /^function (\w+)\(/.exec(entry) ?? []
    if (name === undefined || !own.has(name)) continue
    const [, schema] = /(?<!")"((?:[^"]|"")+)"\.(?:objects|scope_usage|leftovers|events)\b/.exec(body) ?? []
    if (schema !== undefined) return schemaName('verify', schema.replaceAll('""', '"'))
  }
  return null
}

function entriesOf(table: Table): (readonly [string, string])[] {
  const { name, columns, primaryKey, checks = {}, indexes } = table
  return [
    [`table ${name}`, 'permanent'],
    ...columnsOf({ columns }).map(([column, type]) => [`column ${name}.${column}`, type] as const),
    [`index ${name}_pkey`, `unique btree (${primaryKey})`],
    ...indexes.map(
      (index) => [`index ${index.name}`, `${index.isUnique ? 'unique ' : ''}${index.definition}`] as const,
    ),
    ...Object.entries(checks).map(([check, condition]) => [`constraint ${check}`, condition] as const),
  ]
}

const FUNCTION =
  /CREATE OR REPLACE FUNCTION \{schema\}\.(\w+)\(([^)]*)\)([^$]*)AS \$body\$([\s\S]*?)\$body\$/g

/** Returns the settings of a function, without which it would keep plans of tables that were small when they were made. */
function settingsOf(clauses: string): string {
  return [...clauses.matchAll(/\bSET (\w+) = (\w+)/g)].map(([, name, value]) => `${name}=${value}`).join(', ')
}

/** Returns the columns of a type by name, because their order does not matter. */
function sorted(columns: string): string {
  const named = columns.split(', ').map((column) => column.split(' ') as [string, string])
  return named
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, type]) => `${name} ${FULL_NAMES[type] ?? type}`)
    .join(', ')
}

/** Type names as Postgres writes them. */
const FULL_NAMES: Readonly<Record<string, string>> = {
  int: 'integer',
  timestamptz: 'timestamp with time zone',
}

function typesOf(parameters: string): string {
  return parameters
    .split(',')
    .map((parameter) => parameter.trim().split(/\s+/))
    .filter(([first, type]) => first !== 'OUT' && type !== undefined)
    .map(([, type]) => FULL_NAMES[type!] ?? type!)
    .join(', ')
}
