import { ARGUMENTS, parameters } from './arguments.js'
import { leaveBehind, LIVE_ROWS, LOCK_KEY, READ_LIVE_ROWS } from './fragments.js'
import { hasArrived, markedBoth, markedChecked, markedTemporary, readEnd } from './marks.js'
import { usageOfScope } from './reads.js'
import { objectText } from './rows.js'
import {
  changeOf,
  charge,
  MAX_SUM,
  NOTHING,
  refusalText,
  refuse,
  reservedBy,
  USAGE,
  usageOf,
} from './usage.js'

const MORE = { bytes: 'more_bytes', files: 'more_files' }
const MAX = { bytes: 'p_max_bytes', files: 'p_max_files' }
const READ_USAGE = `u.bytes, u.files, u.reserved_bytes, u.reserved_files`
const INTO_USAGE = `usage.bytes, usage.files, usage.reserved_bytes, usage.reserved_files`

/** What the attempt adds to the sums of its scope in place of `own`, the pending row that it replaces there. */
const change = changeOf(usageOf('a.size', reservedBy('own')), usageOf('a.size', 'p_declared_size'))

const TERMS = ['temporary_seconds', 'check_seconds']
export const ATTEMPT_COLUMNS = ARGUMENTS.reserve
  .map(({ name }) => name)
  .filter((name) => ![...TERMS, 'overwrite', 'max_bytes', 'max_files', 'now'].includes(name))

/** Returns the value of an argument by its name, as SQL. */
export type ValueOf = (argument: string) => string

export const hasTerms = (valueOf: ValueOf) =>
  `(${TERMS.map((name) => `${valueOf(name)} IS NOT NULL`).join(' OR ')})`

/** Over terms that a statement from outside the library left behind. */
export const insertTerms = (valueOf: ValueOf, from = '') => `
    INSERT INTO {schema}.terms (attempt_id, id, scope, ${TERMS.join(', ')})
    SELECT ${['id', 'id', 'scope', ...TERMS].map(valueOf).join(', ')} ${from}
    ON CONFLICT (attempt_id) DO UPDATE SET
      ${['id', 'scope', ...TERMS, 'temporary_until', 'check_until'].map((name) => `${name} = excluded.${name}`).join(', ')}`

/** The end of an attempt with the mark of its terms, `NULL` without terms. */
export const markedEnd = (valueOf: ValueOf) => `CASE
        WHEN ${valueOf('check_seconds')} IS NOT NULL AND ${valueOf('temporary_seconds')} IS NOT NULL THEN ${markedBoth(valueOf('expires_at'))}
        WHEN ${valueOf('check_seconds')} IS NOT NULL THEN ${markedChecked(valueOf('expires_at'))}
        WHEN ${valueOf('temporary_seconds')} IS NOT NULL THEN ${markedTemporary(valueOf('expires_at'))}
      END`

export const insertAttempts = (valueOf: ValueOf, marked: string, from = '') => `
    INSERT INTO {schema}.objects (
      ${ATTEMPT_COLUMNS.join(', ')}, attempt_id, status, created_at, updated_at, writable_until)
    SELECT
      ${ATTEMPT_COLUMNS.map(valueOf).join(', ')}, ${valueOf('id')}, 'pending', ${valueOf('now')}, ${valueOf('now')},
      coalesce(${marked}, ${valueOf('expires_at')})
    ${from}`

const argument: ValueOf = (name) => `p_${name}`

/**
 * Implements `planReserve` of core/store/lifecycle/plans.ts. Returns a `WriteResult`, without the row of a new
 * attempt.
 *
 * The usage row is written last, because other writes of the scope wait for it. That UPDATE also compares the quota,
 * because it reads the newest version of the row.
 *
 * Postgres prepares each expression of a function anew for every transaction, so the path of a new key has few: it reads no
 * field of `p`, and a query that runs anyway sets the variables.
 */
export const RESERVE = `
CREATE OR REPLACE FUNCTION {schema}.reserve_v2(
  ${parameters(ARGUMENTS.reserve)}
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}${USAGE}
  own {schema}.objects;
  place tid;
  is_new boolean;
  mine boolean;
  p_end timestamptz;
  marked timestamptz;
  more_bytes bigint;
  more_files bigint;
  more_pending bigint;
BEGIN${LOCK_KEY}
  SELECT ${READ_USAGE}, u.ctid, p_declared_size, 1, 1, NOT EXISTS (
      SELECT FROM {schema}.objects o WHERE o.bucket = p_bucket AND o.key = p_key AND o.status <> 'deleted')
    INTO ${INTO_USAGE}, place, more_bytes, more_files, more_pending, is_new
    FROM ${usageOfScope('p_scope')};

  -- A new key, as most are, needs no more reads. Without a usage row, nothing is known yet.
  IF is_new IS NOT TRUE THEN${READ_LIVE_ROWS}
    mine := coalesce(a.scope, p.scope, p_scope) = p_scope;
    IF NOT mine AND (a.id IS NOT NULL OR p.expires_at > p_now OR ${hasArrived('p')}) THEN
      RETURN '{"outcome":"key-conflict"}';
    END IF;
    IF mine AND p.id = p_id THEN${readEnd('p', 'p_end')}
      RETURN '{"outcome":"reserved","object":' || ${objectText('p', 'p_end')} || '}';
    END IF;
    IF p_id IN (a.id, a.attempt_id, p.id) THEN
      RETURN '{"outcome":"reused-id"}';
    END IF;
    IF p_storage_key IN (a.storage_key, p.storage_key) THEN
      RETURN '{"outcome":"reused-storage-key"}';
    END IF;
    IF NOT p_overwrite AND (a.id IS NOT NULL OR ${hasArrived('p')}) THEN
      RETURN '{"outcome":"key-conflict"}';
    END IF;

    IF mine THEN
      own := p;
    ELSE
      -- Two usage rows will change. Every transaction locks several of them in the order of their scopes.
      PERFORM 1 FROM {schema}.scope_usage u WHERE u.scope IN (p_scope, p.scope) ORDER BY u.scope FOR UPDATE;
    END IF;
    more_bytes := ${change.reserved_bytes};
    more_files := ${change.reserved_files};
    more_pending := ${change.pending_rows};
  END IF;

  -- Finds most refusals before anything is written. Only the UPDATE below proves that the upload fits.
  IF coalesce(usage.bytes + usage.reserved_bytes, 0) + more_bytes > p_max_bytes
    OR coalesce(usage.files + usage.reserved_files, 0) + more_files > p_max_files
  THEN
    ${refuse(MORE, MAX)}
  END IF;

  IF refused IS NULL THEN
    IF is_new IS NOT TRUE AND p.id IS NOT NULL THEN
      DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;
    END IF;
    IF ${hasTerms(argument)} THEN
      marked := ${markedEnd(argument)};
    END IF;
${insertAttempts(argument, 'marked')};

    LOOP${charge(
      'p_scope',
      { reserved_bytes: 'more_bytes', reserved_files: 'more_files', pending_rows: 'more_pending' },
      {
        place: 'place',
        condition: `
    AND (p_max_bytes IS NULL OR more_bytes <= 0 OR u.bytes + u.reserved_bytes + more_bytes <= p_max_bytes)
    AND (p_max_files IS NULL OR more_files <= 0 OR u.files + u.reserved_files + more_files <= p_max_files)
    AND u.bytes + u.reserved_bytes + more_bytes <= ${MAX_SUM}`,
      },
    )}
      -- There is nothing to leave behind, and there are no terms.
      IF is_new AND FOUND AND marked IS NULL THEN
        RETURN '{"outcome":"reserved"}';
      END IF;
      EXIT WHEN FOUND;
      INSERT INTO {schema}.scope_usage (scope) VALUES (p_scope) ON CONFLICT (scope) DO NOTHING;
      IF NOT FOUND THEN
        SELECT ${READ_USAGE} INTO ${INTO_USAGE} FROM {schema}.scope_usage u WHERE u.scope = p_scope;
        ${refuse(MORE, MAX)}
        -- Without a refusal, another transaction has freed space or inserted the row since the UPDATE. Try it again.
        EXIT WHEN refused IS NOT NULL;
      END IF;
    END LOOP;

    IF refused IS NOT NULL THEN
      -- Other writes used the space since the first check. The key is still locked, so its row can be put back.
      DELETE FROM {schema}.objects o WHERE o.attempt_id = p_id;
      IF p.id IS NOT NULL THEN
        INSERT INTO {schema}.objects VALUES (p.*);
      END IF;
    END IF;
  END IF;
  IF refused IS NOT NULL THEN
    RETURN ${refusalText(MORE)};
  END IF;
${leaveBehind('p')}
  IF marked IS NOT NULL THEN${insertTerms(argument)};
  END IF;
  IF mine IS NOT FALSE THEN
    RETURN '{"outcome":"reserved"}';
  END IF;
  -- The expired reservation of another scope, beside which there is no active row.${charge(
    'p.scope',
    changeOf(usageOf(null, reservedBy('p')), NOTHING),
  )}
  RETURN pg_catalog.json_build_object('outcome', 'reserved', 'otherScope', p.scope)::text;
END
$body$;
COMMENT ON FUNCTION {schema}.reserve_v2 IS 'Starts an attempt: inserts its pending row if the key is free and the quota has room.';
`
