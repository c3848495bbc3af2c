import { runCli } from './cli.js'
import { addCheckStorage } from './commands/check-storage.js'
import { addErase } from './commands/erase.js'
import { addImport } from './commands/import.js'
import { addEvents, addLeftovers, addList, addScopes } from './commands/lists.js'
import { addTransfer, addUpdate } from './commands/object.js'
import { addPurgeDeleted, addPurgeExpired } from './commands/purge.js'
import { addMigrate, addSchema, addVerify } from './commands/schema.js'
import { addTransferScope } from './commands/transfer-scope.js'
import { addCheckUsage, addRepairUsage, addUsage } from './commands/usage.js'

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
