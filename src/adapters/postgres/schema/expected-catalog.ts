import type { Catalog } from './catalog.js'
import { inSchema, type SchemaName } from './schema-name.js'
import { STEPS, type MigrationStep } from './steps.js'

/** The columns of each table after the last step, as Postgres describes them. */
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

const INDEXES: Readonly<Record<string, string>> = {
  schema_version_pkey: 'unique btree (only_row)',
  objects_pkey: 'unique btree (attempt_id)',
  objects_live: "unique btree (bucket, key, status) WHERE (status <> 'deleted'::text)",
  objects_by_scope: 'btree (scope, status, id)',
  objects_by_route: 'btree (scope, route, status, id) WHERE (route IS NOT NULL)',
  objects_history: "btree (bucket, key, id) WHERE (status = 'deleted'::text)",
  objects_deleted: "btree (deleted_at, id) WHERE (status = 'deleted'::text)",
  objects_expiry: "btree (expires_at, id) WHERE (status = 'pending'::text)",
  objects_scope_expiry: "btree (scope, expires_at, id) WHERE (status = 'pending'::text)",
  scope_usage_pkey: 'unique btree (scope)',
  leftovers_pkey: 'unique btree (attempt_id)',
  leftovers_oldest: 'btree (since, attempt_id)',
}

const CONSTRAINTS: Readonly<Record<string, string>> = {
  schema_version_only_row: 'CHECK (only_row)',
  objects_status: "CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'deleted'::text])))",
}

/** What the schema of this code consists of. */
export function expectedCatalog(schema: SchemaName): Catalog {
  const catalog = new Map<string, string>()
  for (const [table, columns] of Object.entries(COLUMNS)) {
    catalog.set(`table ${table}`, 'permanent')
    for (const [column, type] of Object.entries(columns)) catalog.set(`column ${table}.${column}`, type)
  }
  for (const [index, definition] of Object.entries(INDEXES)) catalog.set(`index ${index}`, definition)
  for (const [name, definition] of Object.entries(CONSTRAINTS)) catalog.set(`constraint ${name}`, definition)
  for (const [signature, body] of functionsOf(STEPS)) {
    catalog.set(`function ${signature}`, inSchema(body, schema))
  }
  return catalog
}

const FUNCTION =
  /CREATE (?:OR REPLACE )?FUNCTION \{schema\}\.(\w+)\(([^)]*)\)[^$]*AS \$body\$([\s\S]*?)\$body\$/g

/** The types of arguments under the names that Postgres gives them. */
const FULL_NAMES: Readonly<Record<string, string>> = {
  int: 'integer',
  timestamptz: 'timestamp with time zone',
}

/** The functions as the steps leave them: of a body that was replaced, the last. */
function functionsOf(steps: readonly MigrationStep[]): Map<string, string> {
  const functions = new Map<string, string>()
  for (const step of steps) {
    if (step.kind !== 'transaction') continue
    for (const [, name, parameters, body] of step.sql.matchAll(FUNCTION)) {
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
