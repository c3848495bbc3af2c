import type { Database } from '../connection/database.js'
import { databaseError } from '../connection/failures.js'
import { readCatalog } from './catalog.js'
import { expectedCatalog } from './expected-catalog.js'
import { newestVersion, tooNew } from './migrate.js'
import type { SchemaName } from './schema-name.js'
import { readState } from './state.js'
import { STEPS } from './steps.js'

/**
 * What keeps this code from working on the schema as it is, in sentences for an operator; empty: nothing. What is there
 * beside it is nobody's business. In a schema that newer code has upgraded things may differ, but none may be missing.
 */
export async function verify(database: Database, schema: SchemaName): Promise<string[]> {
  try {
    const state = await readState(database, schema)
    if (state.version === 0) return [`The schema ${schema.quoted} was never migrated: run migrate().`]
    const findings: string[] = []
    const newest = newestVersion(STEPS)
    if (state.version < newest) {
      findings.push(
        `The schema has version ${state.version}, this code needs version ${newest}: run migrate().`,
      )
    }
    const refusal = tooNew(state, STEPS)
    if (refusal !== null) findings.push(refusal)

    const found = await readCatalog(database, schema)
    for (const [name, expected] of expectedCatalog(schema)) {
      const actual = found.get(name)
      if (actual === undefined) findings.push(`Missing: ${name}.`)
      else if (actual !== expected && state.version <= newest) {
        const difference = name.startsWith('function ') ? 'its body' : `${actual}, instead of ${expected}`
        findings.push(`Differs: ${name}, ${difference}.`)
      }
    }
    return findings
  } catch (error) {
    throw databaseError(error)
  }
}
