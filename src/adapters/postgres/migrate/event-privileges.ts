import type { Database } from '../connection/database.js'
import { statement } from '../sql/statement.js'
import type { SchemaName } from '../sql/schema-name.js'

/** Writers need the first two, and deliverers all of them. */
const MISSING = `
  SELECT p.name
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.nspname = {schema-literal} AND n.oid = c.relnamespace
  CROSS JOIN pg_catalog.unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p(name)
  WHERE c.relname = 'events' AND NOT pg_catalog.has_table_privilege(c.oid, p.name)
  ORDER BY p.name`

/**
 * Returns a sentence for each privilege on the table of events that this role lacks. A role that was set up for version 1.5
 * has none, and with events on all its changes of active objects fail.
 */
export async function missingEventPrivileges(database: Database, schema: SchemaName): Promise<string[]> {
  const rows = await database.run(statement('event_privileges', MISSING, schema), [])
  return rows.map(
    ([name]) =>
      `Missing: the ${name} privilege of this role on the table events, which is needed while events are on.`,
  )
}
