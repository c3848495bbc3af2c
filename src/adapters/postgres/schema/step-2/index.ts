import type { MigrationStep } from '../migration-step.js'
import { ADDITIONS } from './additions.js'
import { CONFIRM } from './confirm.js'
import { PURGE } from './purge.js'
import { REMOVE } from './remove.js'
import { RESERVE } from './reserve.js'
import { WRITE_BATCH } from './write-batch.js'

/**
 * Stores the scope and the due date of leftovers, reports the reserved part in quota refusals, lets `remove` name an
 * attempt, and purges history by scope. The functions of step 1 stay for processes of version 1.5.
 */
export const STEP_2: MigrationStep = {
  version: 2,
  minCompatible: 1,
  additions: ADDITIONS,
  sql: [RESERVE, CONFIRM, WRITE_BATCH, REMOVE, PURGE].join(''),
}
