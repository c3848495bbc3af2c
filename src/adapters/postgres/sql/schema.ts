import { ADOPT, ADOPT_BATCH } from './adopt.js'
import { SCOPE_WRITE, WRITE_BATCH } from './batch.js'
import { RELEASE, REMOVE, SET_UPLOAD_ID, TRANSFER, UPDATE } from './change.js'
import { BEGIN_CHECK, CONFIRM } from './confirm.js'
import { CONTINUE_EVENTS, DELIVER_EVENTS, RECORD_CHECK, RECORD_EVENT } from './events.js'
import { LIST_DUE_LEFTOVERS, LIST_EXPIRED, LIST_SCOPES, LIST_STORED } from './list-functions.js'
import { IS_REFERENCED, PURGE_DELETED, PURGE_EXPIRED } from './purge.js'
import { RESERVE } from './reserve.js'
import { END_TEMPORARY, KEEP } from './temporary.js'
import { TABLES, type CompositeType, type Table } from './tables.js'
import { REFUSAL, REPAIR_USAGE } from './usage.js'
import { REJECT } from './verdicts.js'
import { END_OF } from './marks.js'
import { SCOPE_WRITE_1, VERSION_1 } from './version-1.js'

/**
 * What this release needs in the database. `migrate()` adds the tables, columns and indexes that are missing and
 * replaces all functions.
 *
 * **Two versions of the library share a schema** during a rolling deployment, and for as long as the application likes:
 * - Columns and indexes are added, and neither renamed nor dropped while `minCompatible` admits a version that reads
 *   them.
 * - The version in a function's name (`reserve_v1`) fixes its arguments and results, not its body. A function with
 *   other arguments gets a new name, and the old name calls it, see version-1.ts. So older processes run the current
 *   bodies.
 * - A release that can't follow these rules raises `minCompatible`, renames the tables that older versions read and
 *   drops the functions that they call. Each call of an older process then fails with an "undefined" error, which it
 *   reports as an outdated schema.
 *
 * Newer code refuses an older schema the same way: its statements mention a type that each version after the first
 * creates. See `versioned` in statement.ts.
 */
export interface Schema {
  /** The number of this definition. Versions start at 1 and have no gaps. */
  readonly version: number
  /** The lowest schema version whose code runs on the resulting schema. */
  readonly minCompatible: number
  readonly tables: readonly Table[]
  readonly types: readonly CompositeType[]
  /** Statements that create or replace every function. `{schema}` stands for the quoted schema name. */
  readonly functions: string
}

export const SCHEMA: Schema = {
  version: 2,
  minCompatible: 1,
  tables: TABLES,
  types: [SCOPE_WRITE_1, SCOPE_WRITE],
  functions: [
    REFUSAL,
    END_OF,
    RESERVE,
    BEGIN_CHECK,
    CONFIRM,
    WRITE_BATCH,
    SET_UPLOAD_ID,
    RELEASE,
    REMOVE,
    UPDATE,
    TRANSFER,
    ADOPT,
    ADOPT_BATCH,
    KEEP,
    IS_REFERENCED,
    PURGE_EXPIRED,
    PURGE_DELETED,
    END_TEMPORARY,
    REPAIR_USAGE,
    LIST_EXPIRED,
    LIST_DUE_LEFTOVERS,
    LIST_SCOPES,
    LIST_STORED,
    RECORD_EVENT,
    RECORD_CHECK,
    REJECT,
    CONTINUE_EVENTS,
    DELIVER_EVENTS,
    VERSION_1,
  ].join(''),
}
