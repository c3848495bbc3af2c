import type { Connection } from '../connection/connection.js'
import { notMigrated, unavailable } from '../connection/failures.js'
import type { Cells } from '../connection/statement.js'
import { MIN_COMPATIBLE_VERSION, VERSION } from './tables.js'

export interface SchemaVersion {
  /** 0 without tables. */
  readonly version: number
  /** The lowest version of the code that can use the tables. */
  readonly minCompatible: number
  readonly recordsEvents: boolean
}

const COLUMNS = 'version, min_compatible, records_events'

function versionFrom(row: Cells = []): SchemaVersion {
  const [version = 0, minCompatible = 0, recordsEvents = 0] = row as readonly number[]
  return { version, minCompatible, recordsEvents: recordsEvents === 1 }
}

export function readVersion(connection: Connection): SchemaVersion {
  const name = connection.named('{schema_version}')
  const [table] = connection.query(
    "SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = :name",
    {
      name,
    },
  )
  const [row] = table ? connection.query(`SELECT ${COLUMNS} FROM {schema_version}`) : []
  return versionFrom(row)
}

/** Returns an error message if newer code has made the tables unusable for this code, otherwise `null`. */
export function incompatibility({ version, minCompatible }: SchemaVersion): string | null {
  if (minCompatible <= VERSION) return null
  return (
    `The tables have version ${version}, which requires code of version ${minCompatible} or later; this code has ${VERSION}. ` +
    'Use a newer release of the library: migrate() never downgrades.'
  )
}

/**
 * Returns a function that reads whether events are on.
 *
 * @throws StorageError `DATABASE_UNAVAILABLE` from it if this code can't use the tables.
 */
export function tableCheck(connection: Connection): () => boolean {
  const version = connection.statement(`SELECT ${COLUMNS} FROM {schema_version}`)
  return () => {
    const found = versionFrom(version.first())
    if (found.version < VERSION) throw notMigrated()
    refuseIncompatible(found)
    return found.recordsEvents
  }
}

export function refuseIncompatible(found: SchemaVersion): void {
  const message = incompatibility(found)
  if (message !== null) throw unavailable({ message, retryable: false })
}

export const WRITE_VERSION = `INSERT INTO {schema_version} VALUES (1, ${VERSION}, ${MIN_COMPATIBLE_VERSION}, 0)
  ON CONFLICT (only_row) DO UPDATE SET version = ${VERSION}, min_compatible = ${MIN_COMPATIBLE_VERSION}`
