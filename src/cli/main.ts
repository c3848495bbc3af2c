import { runCli } from './cli.js'
import { addCheckStorage } from './commands/check-storage.js'
import { addErase } from './commands/erase.js'
import { addEvents } from './commands/events.js'
import { addImport } from './commands/import.js'
import { addLeftovers } from './commands/leftovers.js'
import { addList } from './commands/list.js'
import { addMigrate } from './commands/migrate.js'
import { addPurgeDeleted } from './commands/purge-deleted.js'
import { addPurgeExpired } from './commands/purge-expired.js'
import { addSchema } from './commands/schema.js'
import { addScopes } from './commands/scopes.js'
import { addTransferScope } from './commands/transfer-scope.js'
import { addTransfer } from './commands/transfer.js'
import { addUpdate } from './commands/update.js'
import { addCheckUsage, addRepairUsage, addUsage } from './commands/usage.js'
import { addVerify } from './commands/verify.js'

/** In the order in which the help lists them. */
const COMMANDS = [
  addMigrate,
  addVerify,
  addSchema,
  addUsage,
  addScopes,
  addList,
  addUpdate,
  addTransfer,
  addTransferScope,
  addErase,
  addImport,
  addCheckStorage,
  addCheckUsage,
  addRepairUsage,
  addEvents,
  addLeftovers,
  addPurgeExpired,
  addPurgeDeleted,
]

// Not `process.exit()`, which would drop output that a slow reader hasn't read yet.
process.exitCode = await runCli(process.argv.slice(2), COMMANDS)
