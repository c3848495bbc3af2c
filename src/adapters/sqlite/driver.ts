import type { StoreDriver } from '../../core/store/driver.js'
import { Connection } from './connection/connection.js'
import type { SqliteDatabase } from './connection/database.js'
import { eventLog } from './events.js'
import { readMethods } from './reads.js'
import { migrate } from './schema/migrate.js'
import { verify } from './schema/verify.js'
import { tableCheck } from './schema/version.js'
import { usageOfScopes } from './usage.js'
import { writeMethods } from './writes.js'

export interface SqliteDriverOptions {
  readonly database: SqliteDatabase
  readonly prefix: string
  /** Whether events are on after `migrate()`. `null`: as they are. */
  readonly events: boolean | null
  readonly join: boolean
}

/** Creates the driver. Each write is one transaction. */
export function createSqliteDriver({ database, prefix, events, join }: SqliteDriverOptions): StoreDriver {
  const connection = new Connection({ database, prefix, join, tableCheck })
  const usages = usageOfScopes(connection)
  const log = eventLog(connection)
  const anyTable = connection.statement('SELECT count(*) AS tables FROM sqlite_schema')
  return {
    ...readMethods(connection, usages),
    ...writeMethods(connection, usages, log),
    ...log.methods,
    migrate: () => migrate(connection, events),
    verify: () => connection.look(() => verify(connection)),
    checkUsage: (scope) => usages.check(scope),
    repairUsage: (scope) => usages.repair(scope),
    // Reads the file, unlike a statement without tables.
    ping: () => connection.look(() => void anyTable.first()),
    // The application closes its own handle.
    close: async () => {},
  }
}
