import type { Database } from '../connection/database.js'
import { databaseError } from '../connection/failures.js'
import { readCatalog } from './catalog.js'
import { differences, expectedCatalog, nameInFunctions, type Difference } from './expected-catalog.js'
import { readObstacles } from './obstacles.js'
import type { SchemaName } from '../sql/statement.js'
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
    const events = state.eventsSwitch !== null
    const found = await readCatalog(database, schema)
    const migratedAs = nameInFunctions(found) ?? schema
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
