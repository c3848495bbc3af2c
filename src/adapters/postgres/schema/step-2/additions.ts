import type { Addition } from '../migration-step.js'
import { hasOtherName, nameOf } from './storage-names.js'

/** What step 2 adds to the tables of step 1. */
export const ADDITIONS: readonly Addition[] = [
  {
    kind: 'columns',
    table: 'leftovers',
    columns: {
      // The functions of step 1 leave it NULL.
      scope: 'text COLLATE "C"',
      // Leftovers that were never deferred have the default, which sorts them first.
      due_at: "timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone",
    },
  },
  {
    kind: 'index',
    index: 'leftovers_due',
    table: 'leftovers',
    unique: false,
    definition: '(due_at, attempt_id)',
  },
  {
    kind: 'index',
    index: 'leftovers_of_scope',
    table: 'leftovers',
    unique: false,
    definition: '(scope, since, attempt_id) WHERE scope IS NOT NULL',
  },
  {
    kind: 'index',
    index: 'leftovers_scope_due',
    table: 'leftovers',
    unique: false,
    definition: '(scope, due_at, attempt_id) WHERE scope IS NOT NULL',
  },
  {
    kind: 'index',
    index: 'objects_scope_deleted',
    table: 'objects',
    unique: false,
    definition: "(scope, deleted_at, id) WHERE status = 'deleted'",
  },
  {
    // An object that was replaced keeps its id. Any other row is found by its attempt id, which equals its id.
    kind: 'index',
    index: 'objects_replaced',
    table: 'objects',
    unique: false,
    definition: '(id) WHERE id <> attempt_id',
  },
  {
    kind: 'index',
    index: 'objects_storage_key',
    table: 'objects',
    unique: false,
    definition: `(bucket, storage_key) WHERE ${hasOtherName(null)}`,
  },
  {
    kind: 'index',
    index: 'leftovers_storage_key',
    table: 'leftovers',
    unique: false,
    definition: `(bucket, ${nameOf(null)})`,
  },
]
