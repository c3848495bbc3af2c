import { recordedChange, type ListedEvent, type StoredEvent } from '../../../core/store/events.js'
import type { StorageObject } from '../../../core/store/records.js'
import type { Statement, TextRow } from '../connection/database.js'
import { claimToken, eventId } from './event-id.js'
import { FIND_SWITCH } from './events.js'
import type { SchemaName } from './schema-name.js'
import { milliseconds, readDate, readNumber, readObject } from './rows.js'
import { versionedStatement } from './statement.js'

/** The statements of events. */
export type EventStatements = ReturnType<typeof eventStatements>

/** Selects an event in the order of {@link readEvent}. */
const columns = (row: string) =>
  `${row}.object_digest, ${row}.object_number, ${row}.id, ${row}.type, ${row}.object, ${row}.previous, ` +
  `${milliseconds(`${row}.created_at`)}, ${row}.attempts`

export function eventStatements(schema: SchemaName) {
  const named = (name: string, text: string): Statement => versionedStatement(name, text, schema)
  return {
    claim: named(
      'claim_events_v1',
      `SELECT ${columns('r')} FROM {schema}.claim_events_v1($1::text, $2::text, $3::int, $4::timestamptz, $5::timestamptz) r`,
    ),
    // These two return the last part of each event id.
    settle: named('settle_events_v1', 'SELECT r.id FROM {schema}.settle_events_v1($1::json) AS r(id)'),
    extend: named(
      'extend_claims_v1',
      'SELECT r.id FROM {schema}.extend_claims_v1($1::json, $2::timestamptz) AS r(id)',
    ),
    list: named(
      'list_events',
      `SELECT ${columns('e')}, ${milliseconds('e.due_at')}, e.is_claimed
       FROM {schema}.events e WHERE e.id > $1::bigint ORDER BY e.id LIMIT $2::int`,
    ),
    isOn: named('events_switch', FIND_SWITCH),
    count: named(
      'count_events',
      `SELECT count(*) FILTER (WHERE e.attempts = 0), count(*) FILTER (WHERE e.is_claimed AND e.due_at > $1::timestamptz),
         count(*) FROM {schema}.events e`,
    ),
  }
}

export function readEvent(row: TextRow): StoredEvent {
  return { ...readChange(row), claim: claimToken(row[2]!, row[7]!) }
}

export function readListedEvent(row: TextRow): ListedEvent {
  const dueAt = readDate(row[8])
  return { ...readChange(row), dueAt, claimedUntil: row[9] === 't' ? new Date(dueAt) : null }
}

function readChange(row: TextRow) {
  const previous = row[5] == null ? null : readRow(row[5])
  return {
    id: eventId({ digest: row[0]!, number: row[1]!, id: row[2]! }),
    ...recordedChange(row[3]!, readRow(row[4]!), previous),
    createdAt: readDate(row[6]),
    attempts: readNumber(row[7]),
  }
}

/** Reads a row that a function wrote as a JSON list. */
function readRow(text: string): StorageObject {
  return readObject(JSON.parse(text) as TextRow)!
}
