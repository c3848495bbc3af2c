import { lockOf, objectText } from '../step-1/fragments.js'
import { digestOf } from './fragments.js'

/** A setting of the transaction: the time of a removal in milliseconds since 1970, see {@link RECORD_EVENT}. */
const REMOVED_AT = 'svc_db.removed_at'

/**
 * Tells {@link RECORD_EVENT} the time of the removal, which a deleted row does not carry. An expression, because PERFORM
 * costs more.
 */
export const setRemovedAt = (date: string) =>
  `set_config('${REMOVED_AT}', (date_part('epoch', ${date}) * 1000::float8)::bigint::text, true) IS NOT NULL`

/**
 * The trigger function that records the events of active rows. The triggers exist only while events are on, see
 * events-switch.ts, so recording costs nothing while they are off.
 *
 * A trigger sees every change, whichever function makes it: those of step 1, which processes of version 1.5 call, those
 * of this step and those of later ones. It runs at the end of the statement, while the transaction holds the lock of the
 * key, and it sees both versions of the row. A function that changes an active row must change it in place, with one
 * statement per change, and set `updated_at`. A function that deletes an active row must call {@link setRemovedAt}.
 *
 * The setting matters while the table is small: a plan that scans it would stay in use after it has grown.
 */
export const RECORD_EVENT = `
CREATE FUNCTION {schema}.record_event_v1() RETURNS trigger LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off AS $body$
#variable_conflict use_column
DECLARE
  digest uuid;
  number bigint;
  change text;
  changed_at timestamptz;
  after text;
  before text;
BEGIN
  IF TG_OP = 'DELETE' THEN
    change := 'deleted';
    digest := ${digestOf('OLD.bucket', 'OLD.key')};
    number := ${lockOf('OLD.bucket', 'OLD.key')};
    after := ${objectText('OLD')};
    -- Step 1 does not tell the time.
    changed_at := coalesce(
      pg_catalog.to_timestamp(nullif(current_setting('${REMOVED_AT}', true), '')::float8 / 1000::float8),
      pg_catalog.date_trunc('milliseconds', clock_timestamp()));
  ELSE
    digest := ${digestOf('NEW.bucket', 'NEW.key')};
    number := ${lockOf('NEW.bucket', 'NEW.key')};
    after := ${objectText('NEW')};
    changed_at := NEW.updated_at;
    IF TG_OP = 'INSERT' OR OLD.status = 'pending' THEN
      change := 'activated';
    ELSIF NEW.status = 'deleted' THEN
      change := 'deleted';
    ELSE
      before := ${objectText('OLD')};
      change := CASE WHEN NEW.attempt_id <> OLD.attempt_id THEN 'activated'
        WHEN NEW.scope <> OLD.scope THEN 'transferred' ELSE 'updated' END;
    END IF;
  END IF;
  INSERT INTO {schema}.events (object_digest, object_number, type, is_first, created_at, due_at, object, previous)
  VALUES (digest, number, change, NOT EXISTS (SELECT FROM {schema}.events e WHERE e.object_digest = digest),
    changed_at, changed_at, after, before);
  RETURN NULL;
END
$body$;
`
