import type { Statement } from '../connection/database.js'
import type { SchemaName } from '../schema/schema-name.js'
import { objectColumns } from './object-row.js'
import { statement } from './statement.js'

/** The writes: each calls the function of the schema that does it, so each is one round trip and one transaction. */
export type WriteStatements = ReturnType<typeof writeStatements>

export function writeStatements(schema: SchemaName) {
  const named = (name: string, text: string): Statement => statement(name, text, schema)
  const call = (name: string, answers: string, types: string) => {
    const values = types.split(' ').map((type, index) => `$${index + 1}::${type}`)
    return named(name, `SELECT ${answers} FROM {schema}.${name}(${values.join(', ')}) r`)
  }
  const object = objectColumns('(r.obj)')

  return {
    reserve: call(
      'reserve_v1',
      `r.outcome, r.used, r.requested, r.changed, r.other_scope, ${object}`,
      'uuid text text text bigint timestamptz text text text json text text boolean bigint bigint timestamptz',
    ),
    // The place of the other scope stays empty, so that all answers of a batch are alike.
    confirm: call(
      'confirm_v1',
      `r.outcome, r.used, r.requested, r.changed, NULL::text, ${object}`,
      'text text uuid text bigint text text bigint timestamptz',
    ),
    batch: call(
      'write_batch_v1',
      `r.outcome, r.used, r.requested, r.changed, r.other_scope, ${object}`,
      'text json',
    ),
    setUploadId: call(
      'set_upload_id_v1',
      `r.outcome, r.changed, ${object}`,
      'text text uuid text timestamptz',
    ),
    // A function with one composite answer is that row.
    release: call('release_v1', objectColumns('r'), 'text text uuid text text timestamptz'),
    remove: call('remove_v1', objectColumns('r'), 'text text text boolean timestamptz'),
    purgeExpired: call('purge_expired_v1', objectColumns('r'), 'text timestamptz int timestamptz'),
    purgeDeleted: call('purge_deleted_v1', 'r.scope, r.dropped', 'timestamptz int'),
    forgetLeftover: named(
      'forget_leftover',
      'DELETE FROM {schema}.leftovers l WHERE l.attempt_id = $1 RETURNING l.attempt_id',
    ),
  }
}
