import type { Catalog } from './catalog.js'
import { TRIGGER_CATALOG } from './events-switch.js'
import type { MigrationStep } from './migration-step.js'
import { VERSION_TABLE } from './migration-text.js'
import { inSchema, type SchemaName } from './schema-name.js'

/** The columns of each table after step 1, as Postgres describes them. Later steps list what they add. */
const COLUMNS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  schema_version: {
    only_row: 'boolean NOT NULL DEFAULT true',
    version: 'integer NOT NULL',
    min_compatible: 'integer NOT NULL',
    build_claimed_until: 'timestamp with time zone',
  },
  objects: {
    id: 'uuid NOT NULL',
    attempt_id: 'uuid NOT NULL',
    scope: 'text COLLATE "C" NOT NULL',
    bucket: 'text COLLATE "C" NOT NULL',
    key: 'text COLLATE "C" NOT NULL',
    status: 'text COLLATE "C" NOT NULL',
    route: 'text COLLATE "C"',
    filename: 'text COLLATE "C"',
    content_type: 'text COLLATE "C"',
    size: 'bigint',
    declared_size: 'bigint',
    e_tag: 'text COLLATE "C"',
    metadata: 'json',
    storage_key: 'text COLLATE "C"',
    upload_id: 'text COLLATE "C"',
    expires_at: 'timestamp with time zone',
    created_at: 'timestamp with time zone NOT NULL',
    updated_at: 'timestamp with time zone NOT NULL',
    confirmed_at: 'timestamp with time zone',
    deleted_at: 'timestamp with time zone',
    writable_until: 'timestamp with time zone NOT NULL',
  },
  scope_usage: {
    scope: 'text COLLATE "C" NOT NULL',
    bytes: 'bigint NOT NULL DEFAULT 0',
    files: 'bigint NOT NULL DEFAULT 0',
    reserved_bytes: 'bigint NOT NULL DEFAULT 0',
    reserved_files: 'bigint NOT NULL DEFAULT 0',
    pending_rows: 'bigint NOT NULL DEFAULT 0',
    deleted_rows: 'bigint NOT NULL DEFAULT 0',
  },
  leftovers: {
    attempt_id: 'uuid NOT NULL',
    bucket: 'text COLLATE "C" NOT NULL',
    key: 'text COLLATE "C" NOT NULL',
    storage_key: 'text COLLATE "C"',
    upload_id: 'text COLLATE "C"',
    since: 'timestamp with time zone NOT NULL',
    writable_until: 'timestamp with time zone NOT NULL',
  },
}

const CONSTRAINTS: Readonly<Record<string, string>> = {
  schema_version_only_row: 'CHECK (only_row)',
  objects_status: "CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'deleted'::text])))",
}

/** Returns the catalog of a schema after these steps, with events on or off. */
export function expectedCatalog(
  schema: SchemaName,
  steps: readonly MigrationStep[],
  { events }: { readonly events: boolean },
): Catalog {
  const catalog = new Map<string, string>(events ? TRIGGER_CATALOG : [])
  for (const tables of [COLUMNS, ...steps.map((step) => step.tables ?? {})]) {
    for (const [table, columns] of Object.entries(tables)) {
      catalog.set(`table ${table}`, 'permanent')
      for (const [column, type] of Object.entries(columns)) catalog.set(`column ${table}.${column}`, type)
    }
  }
  for (const { additions } of steps) {
    for (const addition of additions) {
      if (addition.kind !== 'columns') continue
      for (const [column, type] of Object.entries(addition.columns)) {
        catalog.set(`column ${addition.table}.${column}`, type)
      }
    }
  }
  for (const [index, definition] of indexesOf(steps)) catalog.set(`index ${index}`, definition)
  for (const [name, definition] of Object.entries(CONSTRAINTS)) catalog.set(`constraint ${name}`, definition)
  for (const [signature, body] of functionsOf(steps)) {
    catalog.set(`function ${signature}`, inSchema(body, schema))
  }
  return catalog
}

const PRIMARY_KEY = /CONSTRAINT (\w+) PRIMARY KEY (\([^)]*\))/g
const INDEX = /CREATE (UNIQUE )?INDEX (\w+) ON \{schema\}\.\w+ ([^;]+);/g

/** Reads the indexes from the SQL of the steps. */
function indexesOf(steps: readonly MigrationStep[]): Map<string, string> {
  const indexes = new Map<string, string>()
  for (const text of [VERSION_TABLE, ...steps.map(({ sql }) => sql)]) {
    for (const [, name, columns] of text.matchAll(PRIMARY_KEY)) {
      indexes.set(name!, indexDefinition(true, columns!))
    }
    for (const [, unique, name, definition] of text.matchAll(INDEX)) {
      indexes.set(name!, indexDefinition(unique !== undefined, definition!))
    }
  }
  for (const addition of steps.flatMap(({ additions }) => additions)) {
    if (addition.kind === 'index')
      indexes.set(addition.index, indexDefinition(addition.unique, addition.definition))
  }
  return indexes
}

/**
 * Returns an index definition as Postgres writes it: the condition in parentheses unless it is a column, and each string
 * with its type.
 */
function indexDefinition(unique: boolean, definition: string): string {
  const [columns, condition] = definition.split(' WHERE ')
  const typed = condition?.replaceAll(/'[^']*'/g, '$&::text')
  const where = typed === undefined ? '' : ` WHERE ${/^\w+$/.test(typed) ? typed : `(${typed})`}`
  return `${unique ? 'unique ' : ''}btree ${columns}${where}`
}

const FUNCTION =
  /CREATE (?:OR REPLACE )?FUNCTION \{schema\}\.(\w+)\(([^)]*)\)[^$]*AS \$body\$([\s\S]*?)\$body\$/g

/** Type names as Postgres writes them. */
const FULL_NAMES: Readonly<Record<string, string>> = {
  int: 'integer',
  timestamptz: 'timestamp with time zone',
}

/** Reads the functions from the SQL of the steps. A later step may replace a body. */
function functionsOf(steps: readonly MigrationStep[]): Map<string, string> {
  const functions = new Map<string, string>()
  for (const { sql } of steps) {
    for (const [, name, parameters, body] of sql.matchAll(FUNCTION)) {
      const types = parameters!
        .split(',')
        .map((parameter) => parameter.trim().split(/\s+/))
        .filter(([first]) => first !== 'OUT')
        .map(([, type]) => FULL_NAMES[type!] ?? type!)
      functions.set(`${name}(${types.join(', ')})`, body!)
    }
  }
  return functions
}
