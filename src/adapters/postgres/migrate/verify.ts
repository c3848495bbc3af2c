import type { Database } from '../connection/database.js'
import { databaseError } from '../connection/failures.js'
import {
  differences,
  expectedCatalog,
  nameInFunctions,
  readCatalog,
  type Catalog,
  type Difference,
} from './catalog.js'
import { type SchemaName, statement } from '../sql/statement.js'
import { RECORD_EVENT } from '../sql/events.js'
import { RELATIONS } from '../sql/tables.js'
import { VERSION_1 } from '../sql/version-1.js'
import { SCHEMA, type Schema } from '../sql/schema.js'
import { incompatibility, readVersion } from './version.js'

/**
 * Returns what keeps this code from working on the schema, in sentences for an operator. In one that newer code
 * migrated, definitions may differ, but nothing may be missing.
 */
export async function verify(
  database: Database,
  schema: SchemaName,
  definition: Schema = SCHEMA,
): Promise<string[]> {
  try {
    const state = await readVersion(database, schema)
    if (state.version === 0) {
      const obstacles = await readObstacles(database, schema, { known: new Map(), events: false })
      return [`The schema ${schema.quoted} was never migrated. Run migrate().`, ...obstacles]
    }
    const findings: string[] = []
    const newest = definition.version
    const events = state.eventsSwitch !== null
    const found = await readCatalog(database, schema)
    const migratedAs = nameInFunctions(found, definition) ?? schema
    if (migratedAs.name !== schema.name) {
      findings.push(
        `The schema ${schema.quoted} was migrated as ${migratedAs.quoted}, the name that its functions use. Run migrate().`,
      )
    }
    if (state.version < newest) {
      findings.push(
        `The schema has version ${state.version}, but this code needs version ${newest}. Run migrate().`,
      )
    }
    const refusal = incompatibility(state, newest)
    if (refusal !== null) findings.push(refusal)
    if (state.lacksRow) findings.push('Missing: the row of the table schema_version. Run migrate().')
    if (state.countsAgain) {
      findings.push('The sequence of events.id is behind the events that wait. Run migrate().')
    }

    const wanted = expectedCatalog(definition, migratedAs, { events })
    for (const difference of differences(found, wanted)) {
      if (difference.actual === undefined) findings.push(`Missing: ${difference.name}.`)
      else if (state.version <= newest) findings.push(`Differs: ${sentenceOf(difference)}.`)
    }
    return [...findings, ...(await readObstacles(database, schema, { known: wanted, events }))]
  } catch (error) {
    throw databaseError(error)
  }
}

function sentenceOf({ name, expected, actual }: Difference): string {
  return name.startsWith('function ')
    ? `${name} has another body or other settings`
    : `${name} must be ${expected} (got ${actual})`
}

/** Returns a sentence for each setting around the schema that makes calls fail or hides rows from them. */
async function readObstacles(
  database: Database,
  schema: SchemaName,
  { known, events }: { readonly known: Catalog; readonly events: boolean },
): Promise<string[]> {
  const rows = await database.run(statement('obstacles', OBSTACLES, schema), [])
  return rows.flatMap(([kind, subject, detail]) => {
    switch (kind) {
      case 'schema':
        return [`Missing: the USAGE privilege of this role on the schema ${schema.quoted}.`]
      case 'table': {
        if (!RIGHTS[subject!]?.includes(detail!) || (subject === 'events' && !events)) return []
        const reason = subject === 'events' ? ', which is needed while events are on' : ''
        return [`Missing: the ${detail} privilege of this role on the table ${subject}${reason}.`]
      }
      case 'function':
        return known.has(`function ${subject}`) && !UNCALLED.includes(detail!)
          ? [`Missing: the EXECUTE privilege of this role on the function ${subject}.`]
          : []
      case 'row security':
        return [
          `Row security is on for the table ${subject}, and hides rows. ` +
            `Run ALTER TABLE ${schema.quoted}.${subject} DISABLE ROW LEVEL SECURITY.`,
        ]
      case 'foreign key':
        return [
          `The foreign key ${detail} refers to the table ${subject}, and stops deletes. ` +
            'Drop it: see docs/your-orm.md#foreign-keys.',
        ]
      case 'standby':
        return [
          'The server is a standby. It refuses writes, and reads may find what the primary has changed or removed since. Connect to the primary.',
        ]
      case 'read-only':
        return [
          'The server refuses writes: default_transaction_read_only is on. Free disk space if a managed service has set it, and reset it.',
        ]
      default:
        return [
          `Writes need the isolation level READ COMMITTED (got ${subject!.toUpperCase()}). Reset default_transaction_isolation.`,
        ]
    }
  })
}

/** The rights on each table that calls need. */
const RIGHTS: Readonly<Record<string, readonly string[]>> = {
  schema_version: ['SELECT'],
  objects: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  scope_usage: ['SELECT', 'INSERT', 'UPDATE'],
  leftovers: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  terms: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  rejections: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  events: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
}

/** Functions that only older processes call, or a trigger, for which Postgres checks no right. */
const UNCALLED = [...`${VERSION_1}${RECORD_EVENT}`.matchAll(/FUNCTION \{schema\}\.(\w+)\(/g)].map(
  ([, name]) => name,
)

const TABLES = `${RELATIONS} AND c.relkind IN ('r', 'p')`

const OBSTACLES = `
  SELECT 'schema', NULL, NULL FROM pg_catalog.pg_namespace n
  WHERE n.nspname = {schema-literal} AND NOT pg_catalog.has_schema_privilege(n.oid, 'USAGE')
UNION ALL
  SELECT 'table', c.relname::text, p.name FROM ${TABLES}
  CROSS JOIN pg_catalog.unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p(name)
  WHERE NOT pg_catalog.has_table_privilege(c.oid, p.name)
UNION ALL
  SELECT 'function', p.proname || '(' || oidvectortypes(p.proargtypes) || ')', p.proname::text
  FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace AND n.nspname = {schema-literal}
  WHERE NOT pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
UNION ALL
  SELECT 'row security', c.relname::text, NULL FROM ${TABLES} WHERE c.relrowsecurity
UNION ALL
  SELECT 'foreign key', c.relname::text, o.conname || ' of ' || o.conrelid::regclass::text
  FROM ${TABLES} JOIN pg_catalog.pg_constraint o ON o.confrelid = c.oid AND o.contype = 'f' AND o.conparentid = 0 AND o.confdeltype IN ('a', 'r')
UNION ALL
  SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'standby' ELSE 'read-only' END, NULL, NULL
  WHERE current_setting('transaction_read_only') = 'on'
UNION ALL
  SELECT 'isolation level', current_setting('transaction_isolation'), NULL
  WHERE current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted')
ORDER BY 1, 2, 3`
