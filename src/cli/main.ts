import { runCli } from './cli.js'
import { addCheckUsage } from './commands/check-usage.js'
import { addLeftovers } from './commands/leftovers.js'
import { addList } from './commands/list.js'
import { addMigrate } from './commands/migrate.js'
import { addPurgeDeleted } from './commands/purge-deleted.js'
import { addPurgeExpired } from './commands/purge-expired.js'
import { addRepairUsage } from './commands/repair-usage.js'
import { addSchema } from './commands/schema.js'
import { addUsage } from './commands/usage.js'
import { addVerify } from './commands/verify.js'

/** In the order of the help. */
const COMMANDS = [
  addMigrate,
  addVerify,
  addSchema,
  addUsage,
  addList,
  addCheckUsage,
  addRepairUsage,
  addLeftovers,
  addPurgeExpired,
  addPurgeDeleted,
]

// Set and not called: what is still on its way to a slow reader gets there.
process.exitCode = await runCli(process.argv.slice(2), COMMANDS)
