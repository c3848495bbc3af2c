import { CONFIRM } from './confirm.js'
import { PURGE } from './purge.js'
import { REMOVE } from './remove.js'
import { REPAIR_USAGE } from './repair-usage.js'
import { RESERVE } from './reserve.js'
import { SET_UPLOAD_ID } from './set-upload-id.js'
import { TABLES } from './tables.js'
import { WRITE_BATCH } from './write-batch.js'

/** The first released schema. */
export const STEP_1 = [
  TABLES,
  RESERVE,
  CONFIRM,
  WRITE_BATCH,
  SET_UPLOAD_ID,
  REMOVE,
  PURGE,
  REPAIR_USAGE,
].join('')
