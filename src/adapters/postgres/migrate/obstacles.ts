import type { Database } from '../connection/database.js'
import { RECORD_EVENT } from '../sql/events.js'
import { type SchemaName, statement } from '../sql/statement.js'
import { VERSION_1 } from '../sql/version-1.js'
import type { Catalog } from './catalog.js'

/**
 * Returns a sentence for each setting around the schema that makes calls fail, or hides rows from them: a missing right of this role,
 * row security, foreign keys of the application, and settings of the session.
 */
export async function readObstacles(
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
  events: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
}

/** Functions that only older processes call, or a trigger, for which Postgres checks no right. */
const UNCALLED = [...`${VERSION_1}${RECORD_EVENT}`.matchAll(/FUNCTION \{schema\}\.(\w+)\(/g)].map(
  ([, name]) => name,
)

const TABLES = `pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n
    ON n.oid = c.relnamespace AND n.nspname = {schema-literal} AND c.relkind IN ('r', 'p')`

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
  SELECT 'isolation level', current_setting('transaction_isolation'), NULL
  WHERE current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted')
ORDER BY 1, 2, 3`
