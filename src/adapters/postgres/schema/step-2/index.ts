import type { MigrationStep } from '../migration-step.js'
import { ADDITIONS } from './additions.js'
import { CONFIRM } from './confirm.js'
import { PURGE } from './purge.js'
import { REMOVE } from './remove.js'
import { RESERVE } from './reserve.js'
import { WRITE_BATCH } from './write-batch.js'

/**
 * Leftovers know their scope and when they are due, quota refusals say what is reserved, `remove` can name an attempt,
 * and history can be purged by scope. Step 1 keeps its functions for processes of version 1.5.
 */
export const STEP_2: MigrationStep = {
  version: 2,
  minCompatible: 1,
  additions: ADDITIONS,
  sql: [RESERVE, CONFIRM, WRITE_BATCH, REMOVE, PURGE].join(''),
}
