import type { Database } from '../connection/database.js'
import { isUndefinedThing } from '../connection/failures.js'
import { readNumber } from '../statements/object-row.js'
import { statement } from '../statements/statement.js'
import type { SchemaName } from './schema-name.js'

/** How far a schema has come, and from which version on code may use it. */
export interface SchemaState {
  readonly version: number
  readonly minCompatible: number
}

/** Where nothing was migrated yet. */
const NOTHING: SchemaState = { version: 0, minCompatible: 0 }

export async function readState(database: Database, schema: SchemaName): Promise<SchemaState> {
  const text = 'SELECT v.version, v.min_compatible FROM {schema}.schema_version v'
  try {
    const [row] = await database.run(statement('schema_version', text, schema), [])
    return row ? { version: readNumber(row[0]), minCompatible: readNumber(row[1]) } : NOTHING
  } catch (error) {
    if (isUndefinedThing(error)) return NOTHING
    throw error
  }
}
