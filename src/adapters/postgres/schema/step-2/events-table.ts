/**
 * The events that wait for delivery. `is_first` marks the oldest event of each object, and a claim moves `due_at` to its
 * own end. So the only index that claims use contains what can be claimed, and neither claimed events nor those that
 * wait behind an older one are ever in its way.
 */
export const EVENTS_TABLE = `
CREATE TABLE {schema}.events (
  -- The order of an object's events, because it is drawn under the lock of the key. A cached sequence would break it.
  id bigint GENERATED ALWAYS AS IDENTITY,
  -- The object whose events are delivered one after the other.
  object_digest uuid NOT NULL,
  -- The number of the advisory lock of its key.
  object_number bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  is_first boolean NOT NULL,
  -- False after a retry. The number of attempts identifies a claim.
  is_claimed boolean NOT NULL DEFAULT false,
  attempts int NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  due_at timestamptz NOT NULL,
  object text NOT NULL,
  previous text,
  CONSTRAINT events_pkey PRIMARY KEY (id)
)
-- Every event is inserted, updated and deleted, so a share of the table says nothing about its dead rows.
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
CREATE INDEX events_of_object ON {schema}.events (object_digest, id);
CREATE INDEX events_due ON {schema}.events (due_at, id) WHERE is_first;
`

/** The columns, as Postgres describes them. */
export const EVENTS_COLUMNS = {
  id: 'bigint NOT NULL',
  object_digest: 'uuid NOT NULL',
  object_number: 'bigint NOT NULL',
  type: 'text COLLATE "C" NOT NULL',
  is_first: 'boolean NOT NULL',
  is_claimed: 'boolean NOT NULL DEFAULT false',
  attempts: 'integer NOT NULL DEFAULT 0',
  created_at: 'timestamp with time zone NOT NULL',
  due_at: 'timestamp with time zone NOT NULL',
  object: 'text NOT NULL',
  previous: 'text',
}
