import { runCli } from './cli.js'
import { addArrived } from './commands/arrived.js'
import { addCheckStorage } from './commands/check-storage.js'
import { addCleanUp } from './commands/clean-up.js'
import { addDoctor } from './commands/doctor.js'
import { addEndUploads } from './commands/end-uploads.js'
import { addErase } from './commands/erase.js'
import { addImport } from './commands/import.js'
import { addEvents, addLeftovers, addList, addScopes } from './commands/lists.js'
import { addTransfer, addUpdate } from './commands/object.js'
import { addPurgeDeleted, addPurgeExpired } from './commands/purge.js'
import { addMigrate, addSchema, addVerify } from './commands/schema.js'
import { addTransferScope } from './commands/transfer-scope.js'
import { addCheckUsage, addRepairUsage, addUsage } from './commands/usage.js'
import { endProcess } from './end-process.js'

/** In the order in which the help lists them. */
const COMMANDS = [
  addMigrate,
  addVerify,
  addDoctor,
  addSchema,
  addUsage,
  addScopes,
  addList,
  addUpdate,
  addTransfer,
  addTransferScope,
  addEndUploads,
  addErase,
  addImport,
  addCheckStorage,
  addCleanUp,
  addCheckUsage,
  addRepairUsage,
  addArrived,
  addEvents,
  addLeftovers,
  addPurgeExpired,
  addPurgeDeleted,
]

// Output that fails is handled where it is written. Without a listener, help for a closed pipe would end with a stack trace.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

// Not only the exit code: what the module of `--map` keeps open, such as a database pool, would keep the process running.
await endProcess(await runCli(process.argv.slice(2), COMMANDS))
