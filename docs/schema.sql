-- What migrate() creates, without the bodies of the functions.

-- Events that wait for delivery.
CREATE TABLE events (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  object_digest uuid NOT NULL,
  object_number bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  is_first boolean NOT NULL,
  is_claimed boolean NOT NULL DEFAULT false,
  attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  due_at timestamptz NOT NULL,
  object text NOT NULL,
  previous text,
  reason text COLLATE "C",
  CONSTRAINT events_pkey PRIMARY KEY (id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=10000);

-- Events that can be claimed for the first time.
CREATE INDEX events_due ON events USING btree (due_at, id) WHERE (is_first AND (attempts = 0));
-- Events that can be claimed again.
CREATE INDEX events_due_again ON events USING btree (due_at, id) WHERE (is_first AND (attempts > 0));
-- Finds the oldest event of an object.
CREATE INDEX events_of_object ON events USING btree (object_digest, id);

-- Bytes that may still be in the bucket although no object refers to them.
CREATE TABLE leftovers (
  attempt_id uuid NOT NULL,
  bucket text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  storage_key text COLLATE "C",
  upload_id text COLLATE "C",
  since timestamptz NOT NULL,
  writable_until timestamptz NOT NULL,
  scope text COLLATE "C",
  due_at timestamptz NOT NULL DEFAULT '-infinity'::timestamptz,
  readable_until timestamptz,
  CONSTRAINT leftovers_pkey PRIMARY KEY (attempt_id)
);

-- Leftovers that are due.
CREATE INDEX leftovers_due ON leftovers USING btree (due_at, attempt_id);
-- Lists of the leftovers of a scope.
CREATE INDEX leftovers_of_scope ON leftovers USING btree (scope, since, attempt_id) WHERE (scope IS NOT NULL);
-- Lists of leftovers.
CREATE INDEX leftovers_oldest ON leftovers USING btree (since, attempt_id);
-- Leftovers of a scope that are due.
CREATE INDEX leftovers_scope_due ON leftovers USING btree (scope, due_at, attempt_id) WHERE (scope IS NOT NULL);
-- Finds leftovers by the name of their bytes.
CREATE INDEX leftovers_storage_key ON leftovers USING btree (bucket, COALESCE(storage_key, key));

-- Objects: pending (an upload in progress), active or deleted (history).
CREATE TABLE objects (
  id uuid NOT NULL,
  attempt_id uuid NOT NULL,
  scope text COLLATE "C" NOT NULL,
  bucket text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  route text COLLATE "C",
  filename text COLLATE "C",
  content_type text COLLATE "C",
  size bigint,
  declared_size bigint,
  e_tag text COLLATE "C",
  metadata json,
  storage_key text COLLATE "C",
  upload_id text COLLATE "C",
  expires_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  confirmed_at timestamptz,
  deleted_at timestamptz,
  writable_until timestamptz NOT NULL,
  CONSTRAINT objects_pkey PRIMARY KEY (attempt_id),
  CONSTRAINT objects_status CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'deleted'::text])))
) WITH (autovacuum_vacuum_scale_factor=0.05);

-- Lists of a scope and a route.
CREATE INDEX objects_by_route ON objects USING btree (scope, route, status, id) WHERE (route IS NOT NULL);
-- Lists of a scope.
CREATE INDEX objects_by_scope ON objects USING btree (scope, status, id);
-- Purges of history.
CREATE INDEX objects_deleted ON objects USING btree (deleted_at, id) WHERE (status = 'deleted'::text);
-- Expired reservations.
CREATE INDEX objects_expiry ON objects USING btree (expires_at, id) WHERE (status = 'pending'::text);
-- Finds the last deleted row of a key.
CREATE INDEX objects_history ON objects USING btree (bucket, key, id) WHERE (status = 'deleted'::text);
-- Finds the rows of a key, and allows one active and one pending.
CREATE UNIQUE INDEX objects_live ON objects USING btree (bucket, key, status) WHERE (status <> 'deleted'::text);
-- Finds an object that was replaced by its id, which it keeps.
CREATE INDEX objects_replaced ON objects USING btree (id) WHERE (id <> attempt_id);
-- Purges of the history of a scope.
CREATE INDEX objects_scope_deleted ON objects USING btree (scope, deleted_at, id) WHERE (status = 'deleted'::text);
-- Expired reservations of a scope.
CREATE INDEX objects_scope_expiry ON objects USING btree (scope, expires_at, id) WHERE (status = 'pending'::text);
-- Finds the row of a storage key that does not follow from the key.
CREATE INDEX objects_storage_key ON objects USING btree (bucket, storage_key) WHERE ((storage_key <> key) AND (storage_key <> ((key || '~'::text) || (attempt_id)::text)) AND (status <> 'deleted'::text));

-- Attempts that were rejected within the last hour.
CREATE TABLE rejections (
  attempt_id uuid NOT NULL,
  scope text COLLATE "C" NOT NULL,
  bucket text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  rejected_at timestamptz NOT NULL,
  reason text COLLATE "C",
  CONSTRAINT rejections_pkey PRIMARY KEY (attempt_id)
);

-- Rejections of a scope.
CREATE INDEX rejections_of_scope ON rejections USING btree (scope, rejected_at);
-- Rejections to forget.
CREATE INDEX rejections_oldest ON rejections USING btree (rejected_at);

-- The version of this schema, in the only row.
CREATE TABLE schema_version (
  only_row boolean NOT NULL DEFAULT true,
  version integer NOT NULL,
  min_compatible integer NOT NULL,
  build_claimed_until timestamptz,
  CONSTRAINT schema_version_only_row CHECK (only_row),
  CONSTRAINT schema_version_pkey PRIMARY KEY (only_row)
);

-- The sums of each scope, updated in the transaction that changes its rows.
CREATE TABLE scope_usage (
  scope text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL DEFAULT 0,
  files bigint NOT NULL DEFAULT 0,
  reserved_bytes bigint NOT NULL DEFAULT 0,
  reserved_files bigint NOT NULL DEFAULT 0,
  pending_rows bigint NOT NULL DEFAULT 0,
  deleted_rows bigint NOT NULL DEFAULT 0,
  CONSTRAINT scope_usage_pkey PRIMARY KEY (scope)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000);

-- Ends of temporary objects, checks of arrived bytes, and what attempts say of both.
CREATE TABLE terms (
  attempt_id uuid NOT NULL,
  id uuid NOT NULL,
  scope text COLLATE "C" NOT NULL,
  temporary_seconds bigint,
  check_seconds bigint,
  temporary_until timestamptz,
  check_until timestamptz,
  CONSTRAINT terms_pkey PRIMARY KEY (attempt_id)
) WITH (autovacuum_vacuum_scale_factor=0.05);

-- Attempts that have arrived.
CREATE INDEX terms_arrived ON terms USING btree (check_until, id) WHERE (check_until IS NOT NULL);
-- Attempts of a scope that have arrived.
CREATE INDEX terms_scope_arrived ON terms USING btree (scope, check_until, id) WHERE (check_until IS NOT NULL);
-- Ends of the temporary objects of a scope.
CREATE INDEX terms_scope_temporary ON terms USING btree (scope, temporary_until, id) WHERE (temporary_until IS NOT NULL);
-- Ends of temporary objects.
CREATE INDEX terms_temporary ON terms USING btree (temporary_until, id) WHERE (temporary_until IS NOT NULL);

CREATE TYPE scope_write_v1 AS (
  bucket text,
  content_type text,
  declared_size bigint,
  e_tag text,
  expires_at timestamptz,
  filename text,
  id uuid,
  key text,
  kind text,
  max_bytes bigint,
  max_files bigint,
  metadata json,
  now timestamptz,
  overwrite boolean,
  place integer,
  route text,
  size bigint,
  storage_key text,
  upload_id text
);

CREATE TYPE scope_write_v2 AS (
  accept boolean,
  bucket text,
  check_seconds bigint,
  content_type text,
  declared_size bigint,
  e_tag text,
  expires_at timestamptz,
  filename text,
  id uuid,
  key text,
  kind text,
  max_bytes bigint,
  max_files bigint,
  metadata json,
  now timestamptz,
  overwrite boolean,
  place integer,
  route text,
  size bigint,
  storage_key text,
  temporary_seconds bigint,
  upload_id text
);

CREATE DOMAIN schema_v2_HASH AS integer;

-- Makes several adoptions of one scope.
FUNCTION adopt_batch_v1(
  p_scope text,
  p_adoptions json
) RETURNS TABLE(place integer, answer text);

-- Records bytes that are in the bucket already as an object.
FUNCTION adopt_v1(
  p_id uuid,
  p_scope text,
  p_bucket text,
  p_key text,
  p_storage_key text,
  p_size bigint,
  p_created_at timestamptz,
  p_e_tag text,
  p_route text,
  p_filename text,
  p_content_type text,
  p_metadata json,
  p_now timestamptz
) RETURNS text;

-- Begins the check of an attempt, and returns when its time is over.
FUNCTION begin_check_v1(
  p_attempt uuid,
  p_now timestamptz
) RETURNS timestamptz;

-- Claims events for delivery.
FUNCTION claim_events_v1(
  p_bucket text,
  p_key text,
  p_attempted boolean,
  p_limit integer,
  p_now timestamptz,
  p_until timestamptz,
  p_last json,
  p_first_from timestamptz,
  p_again_from timestamptz
) RETURNS TABLE(object_digest uuid, object_number bigint, id bigint, type text, object text, previous text, created_at timestamptz, attempts integer, has_next boolean, reason text, first_due timestamptz, again_due timestamptz, ids bigint[]);

-- confirm_v2 as version 1.5 calls it.
FUNCTION confirm_v1(
  p_bucket text,
  p_key text,
  p_id uuid,
  p_scope text,
  p_size bigint,
  p_e_tag text,
  p_content_type text,
  p_max_bytes bigint,
  p_now timestamptz
) RETURNS text;

-- Makes the pending row of a key active.
FUNCTION confirm_v2(
  p_bucket text,
  p_key text,
  p_id uuid,
  p_scope text,
  p_size bigint,
  p_e_tag text,
  p_content_type text,
  p_max_bytes bigint,
  p_accept boolean,
  p_now timestamptz
) RETURNS text;

-- Lets numbers of events continue after the newest.
FUNCTION continue_events_v1() RETURNS void;

-- Returns the end of a row with terms.
FUNCTION end_of_v1(
  p_attempt uuid
) RETURNS timestamptz;

-- Removes objects that are past their end.
FUNCTION end_temporary_v1(
  p_objects json,
  p_mode text,
  p_ended_by timestamptz,
  p_now timestamptz
) RETURNS SETOF text;

-- Extends claims.
FUNCTION extend_claims_v1(
  p_entries json,
  p_until timestamptz
) RETURNS SETOF bigint;

-- Returns whether a foreign key of the application keeps a row.
FUNCTION is_referenced_v1(
  p_attempt uuid
) RETURNS boolean;

-- Clears the ends of temporary objects, of all or of none.
FUNCTION keep_v1(
  p_scope text,
  p_ids uuid[],
  p_attempts uuid[],
  p_now timestamptz
) RETURNS text;

-- Lists leftovers that are due.
FUNCTION list_due_leftovers_v1(
  p_scope text,
  p_before timestamptz,
  p_undeferred_after uuid,
  p_due_from timestamptz,
  p_due_after uuid,
  p_limit integer
) RETURNS SETOF leftovers;

-- Lists expired reservations.
FUNCTION list_expired_v1(
  p_scope text,
  p_before timestamptz,
  p_from timestamptz,
  p_after uuid,
  p_limit integer
) RETURNS SETOF objects;

-- Lists scopes with their sums.
FUNCTION list_scopes_v1(
  p_prefix text,
  p_end text,
  p_after text,
  p_limit integer
) RETURNS TABLE(scope text, bytes bigint, files bigint, reserved_bytes bigint, reserved_files bigint, pending_rows bigint, deleted_rows bigint);

-- Lists live rows and leftovers by the name of their bytes.
FUNCTION list_stored_v1(
  p_bucket text,
  p_prefix text,
  p_end text,
  p_after text,
  p_limit integer,
  p_metadata boolean
) RETURNS TABLE(name text, object text, leftover text);

-- purge_deleted_v2 as version 1.5 calls it.
FUNCTION purge_deleted_v1(
  p_before timestamptz,
  p_limit integer
) RETURNS TABLE(scope text, dropped bigint);

-- Deletes history.
FUNCTION purge_deleted_v2(
  p_id uuid,
  p_scope text,
  p_before timestamptz,
  p_limit integer,
  p_from timestamptz,
  p_rejected_from timestamptz
) RETURNS TABLE(scope text, dropped bigint, first timestamptz);

-- purge_expired_v2 as version 1.5 calls it.
FUNCTION purge_expired_v1(
  p_scope text,
  p_before timestamptz,
  p_limit integer,
  p_now timestamptz
) RETURNS SETOF objects;

-- Ends expired reservations.
FUNCTION purge_expired_v2(
  p_scope text,
  p_before timestamptz,
  p_limit integer,
  p_now timestamptz,
  p_from timestamptz
) RETURNS TABLE(first timestamptz, ended objects);

-- Records the arrival or the rejection of a pending row.
FUNCTION record_check_v1(
  p_type text,
  p_bucket text,
  p_key text,
  p_object text,
  p_previous text,
  p_reason text,
  p_now timestamptz
) RETURNS boolean;

-- Records the change of an active row.
FUNCTION record_event_v1() RETURNS trigger;

-- Returns the limit that a change would exceed, or NULL.
FUNCTION refusal_v1(
  p_used_bytes bigint,
  p_more_bytes bigint,
  p_max_bytes bigint,
  p_used_files bigint,
  p_more_files bigint,
  p_max_files bigint
) RETURNS text;

-- Ends an attempt whose bytes have arrived, and remembers that for an hour.
FUNCTION reject_v1(
  p_bucket text,
  p_key text,
  p_id uuid,
  p_scope text,
  p_reason text,
  p_now timestamptz,
  p_from timestamptz,
  OUT obj objects,
  OUT ends timestamptz,
  OUT first timestamptz
) RETURNS record;

-- release_v2 as version 1.5 calls it.
FUNCTION release_v1(
  p_bucket text,
  p_key text,
  p_id uuid,
  p_scope text,
  p_upload_id text,
  p_now timestamptz,
  OUT obj objects
) RETURNS objects;

-- Ends an attempt: deletes its pending row.
FUNCTION release_v2(
  p_bucket text,
  p_key text,
  p_id uuid,
  p_scope text,
  p_upload_id text,
  p_unless_arrived boolean,
  p_now timestamptz,
  OUT obj objects,
  OUT ends timestamptz
) RETURNS record;

-- remove_v2 as version 1.5 calls it.
FUNCTION remove_v1(
  p_bucket text,
  p_key text,
  p_scope text,
  p_soft boolean,
  p_now timestamptz,
  OUT obj objects
) RETURNS objects;

-- Removes the active row of a key, and its pending one.
FUNCTION remove_v2(
  p_bucket text,
  p_key text,
  p_scope text,
  p_attempt_id uuid,
  p_mode text,
  p_now timestamptz,
  OUT obj objects,
  OUT ends timestamptz
) RETURNS record;

-- Corrects the sums of a scope.
FUNCTION repair_usage_v1(
  p_scope text,
  OUT recorded scope_usage,
  OUT actual scope_usage
) RETURNS record;

-- reserve_v2 as version 1.5 calls it.
FUNCTION reserve_v1(
  p_id uuid,
  p_scope text,
  p_bucket text,
  p_key text,
  p_declared_size bigint,
  p_expires_at timestamptz,
  p_route text,
  p_filename text,
  p_content_type text,
  p_metadata json,
  p_storage_key text,
  p_upload_id text,
  p_overwrite boolean,
  p_max_bytes bigint,
  p_max_files bigint,
  p_now timestamptz
) RETURNS text;

-- Starts an attempt: inserts its pending row if the key is free and the quota has room.
FUNCTION reserve_v2(
  p_id uuid,
  p_scope text,
  p_bucket text,
  p_key text,
  p_declared_size bigint,
  p_expires_at timestamptz,
  p_route text,
  p_filename text,
  p_content_type text,
  p_metadata json,
  p_storage_key text,
  p_upload_id text,
  p_overwrite boolean,
  p_max_bytes bigint,
  p_max_files bigint,
  p_temporary_seconds bigint,
  p_check_seconds bigint,
  p_now timestamptz
) RETURNS text;

-- Sets the multipart upload id of an attempt, once.
FUNCTION set_upload_id_v1(
  p_bucket text,
  p_key text,
  p_id uuid,
  p_upload_id text,
  p_now timestamptz,
  OUT outcome text,
  OUT obj objects
) RETURNS record;

-- Ends claims, and removes the events or schedules a retry.
FUNCTION settle_events_v1(
  p_entries json
) RETURNS TABLE(id bigint, has_next boolean, next_due timestamptz);

-- Gives the active row of a key to another scope.
FUNCTION transfer_v1(
  p_bucket text,
  p_key text,
  p_from text,
  p_to text,
  p_attempt_id uuid,
  p_max_bytes bigint,
  p_max_files bigint,
  p_now timestamptz
) RETURNS text;

-- Sets the filename, content type, metadata, ETag or end of the active row of a key.
FUNCTION update_v1(
  p_bucket text,
  p_key text,
  p_scope text,
  p_attempt_id uuid,
  p_set_metadata json,
  p_sets_filename boolean,
  p_filename text,
  p_sets_content_type boolean,
  p_content_type text,
  p_sets_metadata boolean,
  p_metadata json,
  p_sets_e_tag boolean,
  p_e_tag text,
  p_sets_temporary_seconds boolean,
  p_temporary_seconds bigint,
  p_now timestamptz
) RETURNS text;

-- write_batch_v2 as version 1.5 calls it: waits for keys.
FUNCTION write_batch_v1(
  p_scope text,
  p_writes json
) RETURNS TABLE(place integer, answer text);

-- Makes several reservations and confirms of one scope.
FUNCTION write_batch_v2(
  p_scope text,
  p_writes json
) RETURNS TABLE(place integer, answer text);
