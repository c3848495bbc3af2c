import type { Database } from '../connection/database.js'
import { databaseError } from '../connection/failures.js'
import { readCatalog } from './catalog.js'
import { expectedCatalog } from './expected-catalog.js'
import { type SchemaName, statement } from '../sql/statement.js'
import { SCHEMA, type Schema } from '../sql/schema.js'
import { incompatibility, readVersion } from './version.js'

/**
 * Returns sentences for an operator about what keeps this code from working on the schema; an empty list if nothing
 * does. Additional objects in the schema are ignored. In a schema that newer code migrated, definitions may differ, but
 * nothing may be missing.
 */
export async function verify(
  database: Database,
  schema: SchemaName,
  definition: Schema = SCHEMA,
): Promise<string[]> {
  try {
    const state = await readVersion(database, schema)
    if (state.version === 0) return [`The schema ${schema.quoted} was never migrated. Run migrate().`]
    const findings: string[] = []
    const newest = definition.version
    if (state.version < newest) {
      findings.push(
        `The schema has version ${state.version}, but this code needs version ${newest}. Run migrate().`,
      )
    }
    const refusal = incompatibility(state, newest)
    if (refusal !== null) findings.push(refusal)

    const found = await readCatalog(database, schema)
    for (const [name, expected] of expectedCatalog(definition, schema, {
      events: state.eventsSwitch !== null,
    })) {
      const actual = found.get(name)
      if (actual === undefined) findings.push(`Missing: ${name}.`)
      else if (state.version <= newest) {
        const difference = differenceOf(name, expected, actual)
        if (difference !== null) findings.push(`Differs: ${name} ${difference}.`)
      }
    }
    if (state.eventsSwitch !== null) findings.push(...(await missingEventPrivileges(database, schema)))
    return findings
  } catch (error) {
    throw databaseError(error)
  }
}

function differenceOf(name: string, expected: string, actual: string): string | null {
  if (!name.startsWith('function ')) {
    return actual === expected ? null : `must be ${expected} (got ${actual})`
  }
  return withoutLayout(actual) === withoutLayout(expected) ? null : 'has another body or other settings'
}

/** Drops comments and folds white space, which a migration tool may have changed. */
function withoutLayout(body: string): string {
  return body
    .replace(/--[^\n]*/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

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
async function missingEventPrivileges(database: Database, schema: SchemaName): Promise<string[]> {
  const rows = await database.run(statement('event_privileges', MISSING, schema), [])
  return rows.map(
    ([name]) =>
      `Missing: the ${name} privilege of this role on the table events, which is needed while events are on.`,
  )
}
