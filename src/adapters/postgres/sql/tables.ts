import { hasOtherName, nameOf } from './names.js'

/** A table of the schema. Definitions are as Postgres writes them, because `verify()` compares them with the catalog. */
export interface Table {
  readonly name: string
  /** What a row is. Operators see it in the database. */
  readonly comment: string
  /** The schema version that created the table. */
  readonly since: number
  /** The type of each column. A column that a later version added has a constant default, so that no row is rewritten. */
  readonly columns: Readonly<Record<string, string | AddedColumn>>
  /** The columns of the primary key, whose index is named `<table>_pkey`. */
  readonly primaryKey: string
  /** `CHECK` constraints by name. */
  readonly checks?: Readonly<Record<string, string>>
  readonly indexes: readonly Index[]
  /** Storage parameters of a new table. */
  readonly settings?: string
  /** A table of an earlier version. Roles that have rights on it get the same on this one, because its owner granted them once. */
  readonly grantedAs?: string
}

interface AddedColumn {
  readonly since: number
  readonly type: string
}

export interface Index {
  readonly name: string
  /** The method, the columns, and the condition of a partial index. */
  readonly definition: string
  readonly isUnique?: boolean
  /** What the index is for. */
  readonly comment: string
  /** The schema version that added the index. Default: that of its table. */
  readonly since?: number
}

/** A type of rows of no table. Other columns need another name, because older functions may be running on it. */
export interface CompositeType {
  readonly name: string
  readonly columns: string
}

// COLLATE "C" compares strings byte for byte in every database.
const TEXT = 'text COLLATE "C"'
const TIME = 'timestamp with time zone'

/** Selects the relation of this name as `c`, and the schema as `n`. */
export const relation = (name: string) => `${RELATIONS} AND c.relname = '${name}'`
export const RELATIONS = `pg_catalog.pg_class c
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = {schema-literal}`

/** Selects the types `t` of the schema. */
export const TYPES = `pg_catalog.pg_type t
      JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace AND n.nspname = {schema-literal}`

export const columnsOf = ({ columns }: Pick<Table, 'columns'>) =>
  Object.entries(columns).map(([name, type]) => [name, typeof type === 'string' ? type : type.type] as const)

export const VERSION_TABLE: Table = {
  name: 'schema_version',
  comment: 'The version of this schema, in the only row.',
  since: 1,
  columns: {
    only_row: 'boolean NOT NULL DEFAULT true',
    version: 'integer NOT NULL',
    // The lowest version of the code that can use the schema.
    min_compatible: 'integer NOT NULL',
    // Until then only the process that claimed it may start to build an index.
    build_claimed_until: TIME,
  },
  primaryKey: 'only_row',
  checks: { schema_version_only_row: 'CHECK (only_row)' },
  indexes: [],
}

export const OBJECTS: Table = {
  name: 'objects',
  comment: 'Objects: pending (an upload in progress), active or deleted (history).',
  since: 1,
  columns: {
    id: 'uuid NOT NULL',
    attempt_id: 'uuid NOT NULL',
    scope: `${TEXT} NOT NULL`,
    bucket: `${TEXT} NOT NULL`,
    key: `${TEXT} NOT NULL`,
    status: `${TEXT} NOT NULL`,
    route: TEXT,
    filename: TEXT,
    content_type: TEXT,
    size: 'bigint',
    declared_size: 'bigint',
    e_tag: TEXT,
    // Unlike jsonb, json keeps the text unchanged, including the order of the names.
    metadata: 'json',
    storage_key: TEXT,
    upload_id: TEXT,
    expires_at: TIME,
    created_at: `${TIME} NOT NULL`,
    updated_at: `${TIME} NOT NULL`,
    // In a pending row: when its bytes arrived. Its `expires_at` is null then, and the deadline of the check is in `terms`.
    confirmed_at: TIME,
    deleted_at: TIME,
    // The expires_at of the reservation. Until then, an upload URL may write to the storage_key. See marks.ts.
    writable_until: `${TIME} NOT NULL`,
  },
  // The id is unique as well, but an index on it alone would have the order of every list. For a scope that holds much
  // of the table, the planner would scan that index, past the rows of all other scopes.
  primaryKey: 'attempt_id',
  checks: {
    objects_status: "CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'deleted'::text])))",
  },
  indexes: [
    {
      // With one partial index per status, the planner could use neither for a query of both.
      name: 'objects_live',
      definition: "btree (bucket, key, status) WHERE (status <> 'deleted'::text)",
      isUnique: true,
      comment: 'Finds the rows of a key, and allows one active and one pending.',
    },
    { name: 'objects_by_scope', definition: 'btree (scope, status, id)', comment: 'Lists of a scope.' },
    {
      name: 'objects_by_route',
      definition: 'btree (scope, route, status, id) WHERE (route IS NOT NULL)',
      comment: 'Lists of a scope and a route.',
    },
    {
      name: 'objects_history',
      definition: "btree (bucket, key, id) WHERE (status = 'deleted'::text)",
      comment: 'Finds the last deleted row of a key.',
    },
    {
      name: 'objects_deleted',
      definition: "btree (deleted_at, id) WHERE (status = 'deleted'::text)",
      comment: 'Purges of history.',
    },
    {
      name: 'objects_scope_deleted',
      definition: "btree (scope, deleted_at, id) WHERE (status = 'deleted'::text)",
      comment: 'Purges of the history of a scope.',
      since: 2,
    },
    {
      name: 'objects_expiry',
      definition: "btree (expires_at, id) WHERE (status = 'pending'::text)",
      comment: 'Expired reservations.',
    },
    {
      name: 'objects_scope_expiry',
      definition: "btree (scope, expires_at, id) WHERE (status = 'pending'::text)",
      comment: 'Expired reservations of a scope.',
    },
    {
      // Any other row is found by its attempt id, which equals its id.
      name: 'objects_replaced',
      definition: 'btree (id) WHERE (id <> attempt_id)',
      comment: 'Finds an object that was replaced by its id, which it keeps.',
      since: 2,
    },
    {
      name: 'objects_storage_key',
      definition: `btree (bucket, storage_key) WHERE (${hasOtherName(null)})`,
      comment: 'Finds the row of a storage key that does not follow from the key.',
      since: 2,
    },
  ],
}

/** The sums of a scope. `files` is the number of active rows, so there is a count for every status. */
export const SUMS = [
  'bytes',
  'files',
  'reserved_bytes',
  'reserved_files',
  'pending_rows',
  'deleted_rows',
] as const

const SCOPE_USAGE: Table = {
  name: 'scope_usage',
  comment: 'The sums of each scope, updated in the transaction that changes its rows.',
  since: 1,
  columns: {
    scope: `${TEXT} NOT NULL`,
    ...Object.fromEntries(SUMS.map((sum) => [sum, 'bigint NOT NULL DEFAULT 0'])),
  },
  primaryKey: 'scope',
  indexes: [],
  // Every write updates one of these rows. Free space in the page lets Postgres do so without touching the index.
  settings: 'fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000',
}

export const LEFTOVERS: Table = {
  name: 'leftovers',
  comment: 'Bytes that may still be in the bucket although no object refers to them.',
  since: 1,
  columns: {
    attempt_id: 'uuid NOT NULL',
    bucket: `${TEXT} NOT NULL`,
    key: `${TEXT} NOT NULL`,
    storage_key: TEXT,
    upload_id: TEXT,
    since: `${TIME} NOT NULL`,
    writable_until: `${TIME} NOT NULL`,
    // NULL if a process of version 1.5 recorded the leftover before the upgrade.
    scope: { since: 2, type: TEXT },
    // Leftovers that were never deferred have the default, which sorts them first.
    due_at: { since: 2, type: `${TIME} NOT NULL DEFAULT '-infinity'::${TIME}` },
    // The end of the object.
    readable_until: { since: 2, type: TIME },
  },
  primaryKey: 'attempt_id',
  indexes: [
    { name: 'leftovers_oldest', definition: 'btree (since, attempt_id)', comment: 'Lists of leftovers.' },
    {
      name: 'leftovers_of_scope',
      definition: 'btree (scope, since, attempt_id) WHERE (scope IS NOT NULL)',
      comment: 'Lists of the leftovers of a scope.',
      since: 2,
    },
    {
      name: 'leftovers_due',
      definition: 'btree (due_at, attempt_id)',
      comment: 'Leftovers that are due.',
      since: 2,
    },
    {
      name: 'leftovers_scope_due',
      definition: 'btree (scope, due_at, attempt_id) WHERE (scope IS NOT NULL)',
      comment: 'Leftovers of a scope that are due.',
      since: 2,
    },
    {
      name: 'leftovers_storage_key',
      definition: `btree (bucket, ${nameOf(null)})`,
      comment: 'Finds leftovers by the name of their bytes.',
      since: 2,
    },
  ],
}

/**
 * What few attempts have, apart from `objects`: a column there would cost every upload, and the functions of version 1.5 return its
 * rows. A mark in the row of the attempt says that there are terms, see marks.ts.
 */
const TERMS: Table = {
  name: 'terms',
  comment: 'Ends of temporary objects, checks of arrived bytes, and what attempts say of both.',
  since: 2,
  columns: {
    attempt_id: 'uuid NOT NULL',
    // That of the row, which an object keeps when it is replaced.
    id: 'uuid NOT NULL',
    scope: `${TEXT} NOT NULL`,
    // Of a pending attempt: how long its object lasts, and how long the check of its bytes may take.
    temporary_seconds: 'bigint',
    check_seconds: 'bigint',
    // Of an active object.
    temporary_until: TIME,
    // Of an attempt that has arrived.
    check_until: TIME,
  },
  primaryKey: 'attempt_id',
  indexes: [
    {
      name: 'terms_temporary',
      definition: 'btree (temporary_until, id) WHERE (temporary_until IS NOT NULL)',
      comment: 'Ends of temporary objects.',
    },
    {
      name: 'terms_scope_temporary',
      definition: 'btree (scope, temporary_until, id) WHERE (temporary_until IS NOT NULL)',
      comment: 'Ends of the temporary objects of a scope.',
    },
    {
      name: 'terms_arrived',
      definition: 'btree (check_until, id) WHERE (check_until IS NOT NULL)',
      comment: 'Attempts that have arrived.',
    },
    {
      name: 'terms_scope_arrived',
      definition: 'btree (scope, check_until, id) WHERE (check_until IS NOT NULL)',
      comment: 'Attempts of a scope that have arrived.',
    },
  ],
  settings: 'autovacuum_vacuum_scale_factor = 0.05',
  grantedAs: 'leftovers',
}

const REJECTIONS: Table = {
  name: 'rejections',
  comment: 'Attempts that were rejected within the last hour.',
  since: 2,
  columns: {
    attempt_id: 'uuid NOT NULL',
    scope: `${TEXT} NOT NULL`,
    bucket: `${TEXT} NOT NULL`,
    key: `${TEXT} NOT NULL`,
    rejected_at: `${TIME} NOT NULL`,
    reason: TEXT,
  },
  primaryKey: 'attempt_id',
  indexes: [
    { name: 'rejections_oldest', definition: 'btree (rejected_at)', comment: 'Rejections to forget.' },
    {
      name: 'rejections_of_scope',
      definition: 'btree (scope, rejected_at)',
      comment: 'Rejections of a scope.',
    },
  ],
  grantedAs: 'leftovers',
}

// A claim moves due_at to its own end. So the indexes begin with what can be claimed, and neither claimed nor waiting
// events are in the way. Retries have an index of their own: many of one kind cost a claim of the other nothing.
const EVENTS: Table = {
  name: 'events',
  comment: 'Events that wait for delivery.',
  since: 2,
  columns: {
    // The order of an object's events, because it is drawn under the lock of the key. A cached sequence would break it.
    id: 'bigint NOT NULL GENERATED ALWAYS AS IDENTITY',
    // The object whose events are delivered one after the other.
    object_digest: 'uuid NOT NULL',
    // The number of the advisory lock of its key.
    object_number: 'bigint NOT NULL',
    type: `${TEXT} NOT NULL`,
    // Marks the oldest event of each object.
    is_first: 'boolean NOT NULL',
    // False after a retry. The number of attempts identifies a claim.
    is_claimed: 'boolean NOT NULL DEFAULT false',
    attempts: 'integer NOT NULL DEFAULT 0',
    created_at: `${TIME} NOT NULL`,
    due_at: `${TIME} NOT NULL`,
    object: 'text NOT NULL',
    previous: 'text',
    // Of a rejection.
    reason: TEXT,
  },
  primaryKey: 'id',
  indexes: [
    {
      name: 'events_of_object',
      definition: 'btree (object_digest, id)',
      comment: 'Finds the oldest event of an object.',
    },
    {
      name: 'events_due',
      definition: 'btree (due_at, id) WHERE (is_first AND (attempts = 0))',
      comment: 'Events that can be claimed for the first time.',
    },
    {
      name: 'events_due_again',
      definition: 'btree (due_at, id) WHERE (is_first AND (attempts > 0))',
      comment: 'Events that can be claimed again.',
    },
  ],
  // Every event is inserted, updated and deleted, so a share of the table says nothing about its dead rows.
  settings: 'autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000',
}

/** The tables of the schema, in the order in which every write first locks them. */
export const TABLES: readonly Table[] = [OBJECTS, SCOPE_USAGE, LEFTOVERS, TERMS, REJECTIONS, EVENTS]

/**
 * Lets autovacuum start when 5 % of the objects have changed (default: 20 %), unless the operator has set a share. Each
 * confirmed upload leaves an entry in the indexes of pending rows, at which lists of expired reservations start. A
 * share keeps the cost of vacuums in proportion to the uploads. No writer waits for the statement.
 */
export const VACUUM_SETTINGS = `
  IF NOT EXISTS (
    SELECT FROM ${relation('objects')}
    CROSS JOIN LATERAL pg_catalog.unnest(c.reloptions) AS given(setting)
    WHERE given.setting LIKE 'autovacuum_vacuum_scale_factor=%'
  ) THEN
    ALTER TABLE {schema}.objects SET (autovacuum_vacuum_scale_factor = 0.05);
  END IF;`
