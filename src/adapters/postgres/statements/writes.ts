import type { Statement } from '../connection/database.js'
import type { SchemaName } from '../schema/schema-name.js'
import { objectColumns } from './object-row.js'
import { statement } from './statement.js'

/** The writes: each calls the function of the schema that does it, so each is one round trip and one transaction. */
export type WriteStatements = ReturnType<typeof writeStatements>

export function writeStatements(schema: SchemaName) {
  const named = (name: string, text: string): Statement => statement(name, text, schema)
  const callOf = (name: string, types: string) => {
    const values = types.split(' ').map((type, index) => `$${index + 1}::${type}`)
    return `{schema}.${name}(${values.join(', ')})`
  }
  const call = (name: string, types: string) => named(name, `SELECT ${callOf(name, types)}`)
  const rows = (name: string, answers: string, types: string) =>
    named(name, `SELECT ${answers} FROM ${callOf(name, types)} r`)

  return {
    // Each answers one text, which `readAnswer` takes.
    reserve: call(
      'reserve_v1',
      'uuid text text text bigint timestamptz text text text json text text boolean bigint bigint timestamptz',
    ),
    confirm: call('confirm_v1', 'text text uuid text bigint text text bigint timestamptz'),

    batch: rows('write_batch_v1', 'r.place, r.answer', 'text json'),
    setUploadId: rows(
      'set_upload_id_v1',
      `r.outcome, ${objectColumns('(r.obj)')}`,
      'text text uuid text timestamptz',
    ),
    // A function with one composite answer is that row.
    release: rows('release_v1', objectColumns('r'), 'text text uuid text text timestamptz'),
    remove: rows('remove_v1', objectColumns('r'), 'text text text boolean timestamptz'),
    purgeExpired: rows('purge_expired_v1', objectColumns('r'), 'text timestamptz int timestamptz'),
    purgeDeleted: rows('purge_deleted_v1', 'r.scope, r.dropped', 'timestamptz int'),
    forgetLeftover: named(
      'forget_leftover',
      'DELETE FROM {schema}.leftovers l WHERE l.attempt_id = $1 RETURNING l.attempt_id',
    ),
  }
}
