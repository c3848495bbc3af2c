import type { MigrationResult } from '../../../core/store/contract.js'
import type { Connection } from '../connection/connection.js'
import { indexText, TABLES, tableText, VERSION } from './tables.js'
import { readVersion, refuseIncompatible, WRITE_VERSION } from './version.js'

/**
 * Creates or upgrades the tables, and restores tables and indexes that are missing. Any number of processes may call it at the same
 * time. `events` turns events on or off; `null` leaves them as they are.
 *
 * @throws StorageError `DATABASE_UNAVAILABLE` if the tables are too new for this code.
 */
export async function migrate(connection: Connection, events: boolean | null): Promise<MigrationResult> {
  await useWriteAheadLog(connection)
  const result = await connection.writeUnchecked(() => {
    const found = readVersion(connection)
    refuseIncompatible(found)
    // Newer code has tables that this code doesn't know, but can use.
    if (found.version <= VERSION) createMissing(connection)
    if (events !== null && events !== found.recordsEvents) {
      connection.exec(`UPDATE {schema_version} SET records_events = ${Number(events)}`)
    }
    return { from: found.version, to: Math.max(found.version, VERSION) }
  })
  connection.forgetVersion()
  return result
}

/** Lets readers and a writer work at the same time. A database in memory has no such log, and stays as it is. */
async function useWriteAheadLog(connection: Connection): Promise<void> {
  await connection.change(() => {
    const [[mode] = []] = connection.query('PRAGMA journal_mode')
    if (mode !== 'wal' && mode !== 'memory') connection.exec('PRAGMA journal_mode = WAL')
  })
}

function createMissing(connection: Connection): void {
  const ifMissing = (text: string) => text.replace(/^(CREATE (?:TABLE|INDEX)) /, '$1 IF NOT EXISTS ')
  for (const table of TABLES) {
    connection.exec(ifMissing(tableText(table)))
    for (const index of table.indexes) connection.exec(ifMissing(indexText(table, index)))
  }
  connection.exec(WRITE_VERSION)
}
