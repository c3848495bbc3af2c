import type { ListedEvent, StoredEvent, StoredEventType } from '../../../core/store/events.js'
import type { StorageObject } from '../../../core/store/records.js'
import type { Statement, TextRow } from '../connection/database.js'
import type { SchemaName } from '../schema/schema-name.js'
import { milliseconds, readDate, readNumber, readObject } from './object-row.js'
import { versionedStatement } from './statement.js'

/** The statements of events. */
export type EventStatements = ReturnType<typeof eventStatements>

/** The columns of a claimed event in the order of {@link readEvent}. */
const CLAIMED = `r.id, r.type, r.object, r.previous, ${milliseconds('r.created_at')}, r.attempts`

/** The columns of any event in the order of {@link readListedEvent}. */
const LISTED = `${CLAIMED.replaceAll('r.', 'e.')}, ${milliseconds('e.due_at')}, e.is_claimed`

export function eventStatements(schema: SchemaName) {
  const named = (name: string, text: string): Statement => versionedStatement(name, text, schema)
  return {
    claim: named(
      'claim_events_v1',
      `SELECT ${CLAIMED} FROM {schema}.claim_events_v1($1::text, $2::text, $3::int, $4::timestamptz, $5::timestamptz) r`,
    ),
    settle: named('settle_events_v1', 'SELECT r.id FROM {schema}.settle_events_v1($1::json) AS r(id)'),
    extend: named(
      'extend_claims_v1',
      'SELECT r.id FROM {schema}.extend_claims_v1($1::json, $2::timestamptz) AS r(id)',
    ),
    list: named(
      'list_events',
      `SELECT ${LISTED} FROM {schema}.events e WHERE e.id > $1::bigint ORDER BY e.id LIMIT $2::int`,
    ),
    count: named(
      'count_events',
      `SELECT count(*) FILTER (WHERE e.attempts = 0), count(*) FILTER (WHERE e.is_claimed AND e.due_at > $1::timestamptz),
         count(*) FROM {schema}.events e`,
    ),
  }
}

/** The number of attempts identifies a claim, because every claim of an event adds one. */
export function readEvent(row: TextRow): StoredEvent {
  return { ...readChange(row), claim: row[5]! }
}

export function readListedEvent(row: TextRow): ListedEvent {
  const dueAt = readDate(row[6])
  return { ...readChange(row), dueAt, claimedUntil: row[7] === 't' ? new Date(dueAt) : null }
}

function readChange(row: TextRow) {
  return {
    id: row[0]!,
    type: row[1] as StoredEventType,
    object: readRow(row[2]!),
    previous: row[3] == null ? null : readRow(row[3]),
    createdAt: readDate(row[4]),
    attempts: readNumber(row[5]),
  }
}

/** Reads a row that a function wrote as a JSON list. */
function readRow(text: string): StorageObject {
  return readObject(JSON.parse(text) as TextRow)!
}
