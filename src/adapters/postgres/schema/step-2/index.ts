import type { MigrationStep } from '../migration-step.js'
import { ADDITIONS } from './additions.js'
import { ADOPT } from './adopt.js'
import { ADOPT_BATCH } from './adopt-batch.js'
import { CONFIRM } from './confirm.js'
import { DELIVER_EVENTS } from './deliver-events.js'
import { EVENTS_COLUMNS, EVENTS_TABLE } from './events-table.js'
import { LIST_SCOPES } from './list-scopes.js'
import { LIST_STORED } from './list-stored.js'
import { PURGE } from './purge.js'
import { RECORD_EVENT } from './record-event.js'
import { REMOVE } from './remove.js'
import { RESERVE } from './reserve.js'
import { TRANSFER } from './transfer.js'
import { UPDATE } from './update.js'
import { VACUUM_SETTINGS } from './vacuum-settings.js'
import { WRITE_BATCH } from './write-batch.js'

/**
 * Stores the scope and the due date of leftovers, reports the reserved part in quota refusals, and lets `remove` name an attempt.
 * Objects can be changed, given away, adopted and found by id. History can be purged by scope, scopes and names of bytes can be
 * listed, and events can be recorded. The functions of step 1 stay for processes of version 1.5.
 */
export const STEP_2: MigrationStep = {
  version: 2,
  minCompatible: 1,
  additions: ADDITIONS,
  tables: { events: EVENTS_COLUMNS },
  sql: [
    RESERVE,
    CONFIRM,
    WRITE_BATCH,
    REMOVE,
    PURGE,
    UPDATE,
    TRANSFER,
    ADOPT,
    ADOPT_BATCH,
    LIST_SCOPES,
    LIST_STORED,
    EVENTS_TABLE,
    RECORD_EVENT,
    DELIVER_EVENTS,
    VACUUM_SETTINGS,
  ].join(''),
}
