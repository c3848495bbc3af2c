import { addArrived } from './arrived.js'
import { addCheckStorage } from './check-storage.js'
import { addCleanUp } from './clean-up.js'
import { addDoctor } from './doctor.js'
import { addEndUploads } from './end-uploads.js'
import { addErase } from './erase.js'
import { addImport } from './import.js'
import { addEvents, addLeftovers, addList, addScopes } from './lists.js'
import { addTransfer, addUpdate } from './object.js'
import { addPurgeDeleted, addPurgeExpired } from './purge.js'
import { addMigrate, addSchema, addVerify } from './schema.js'
import { addTransferScope } from './transfer-scope.js'
import { addCheckUsage, addRepairUsage, addUsage } from './usage.js'

/** In the order in which the help lists them. */
export const COMMANDS = [
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
