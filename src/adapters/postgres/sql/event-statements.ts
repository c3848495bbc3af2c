import { type ListedEvent, recordedChange, type StoredEvent } from '../../../core/store/events.js'
import type { EventClaim } from '../../../core/store/inputs/index.js'
import type { StorageObject } from '../../../core/store/records.js'
import type { TextRow } from '../connection/database.js'
import { FIND_SWITCH } from './events.js'
import { milliseconds, readDate, readNumber, readObject } from './rows.js'

/** Selects an event in the order of {@link readEvent}. */
const columns = (row: string) =>
  `${row}.object_digest, ${row}.object_number, ${row}.id, ${row}.type, ${row}.object, ${row}.previous, ` +
  `${milliseconds(`${row}.created_at`)}, ${row}.attempts`

export const EVENT_STATEMENTS = {
  claim: `SELECT ${columns('r')} FROM {schema}.claim_events_v1($1::text, $2::text, $3::boolean, $4::int, $5::timestamptz, $6::timestamptz) r`,
  // These two return the last part of each event id.
  settle: 'SELECT r.id FROM {schema}.settle_events_v1($1::json) AS r(id)',
  extend: 'SELECT r.id FROM {schema}.extend_claims_v1($1::json, $2::timestamptz) AS r(id)',
  list: `SELECT ${columns('e')}, ${milliseconds('e.due_at')}, e.is_claimed
     FROM {schema}.events e WHERE e.id > $1::bigint ORDER BY e.id LIMIT $2::int`,
  isOn: FIND_SWITCH,
  count: `SELECT count(*) FILTER (WHERE e.attempts = 0), count(*) FILTER (WHERE e.is_claimed AND e.due_at > $1::timestamptz),
       count(*) FROM {schema}.events e`,
}

export function readEvent(row: TextRow): StoredEvent {
  // The token contains the position, so that no two claims have the same one.
  return { ...readChange(row), claim: `${row[2]}.${row[7]}` }
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

function readRow(text: string): StorageObject {
  return readObject(JSON.parse(text) as TextRow)!
}

const MAX_BIGINT = 2n ** 63n - 1n
const MAX_INT = 2n ** 31n - 1n

const EVENT_ID = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.(-?\d{1,19})\.(\d{1,19})$/

/** A claimed event as the functions of the schema take it. Numbers are strings, because a number can't hold every bigint. */
export interface EventPlace {
  /** Identifies the object. */
  readonly digest: string
  /** The number of the lock of the object's key. */
  readonly number: string
  /** The position among all events. */
  readonly id: string
  /** The number of the attempt. */
  readonly claim: string
}

/** Returns the public id of an event. It identifies the object too, so that a lookup can use any index of events. */
export function eventId({ digest, number, id }: Omit<EventPlace, 'claim'>): string {
  return `${digest}.${number}.${id}`
}

/** Returns what the id and the claim of an event mean, or `null` if no event can have them. Postgres would reject them. */
export function parseClaim({ id, claim }: EventClaim): EventPlace | null {
  const [, digest, number, position] = EVENT_ID.exec(id) ?? []
  const [, ofPosition, attempt] = /^(\d{1,19})\.(\d{1,10})$/.exec(claim) ?? []
  if (digest === undefined || ofPosition !== position || !isPosition(position!)) return null
  if (!isBetween(number!, -MAX_BIGINT - 1n, MAX_BIGINT) || !isBetween(attempt!, 1n, MAX_INT)) return null
  return { digest, number: number!, id: position!, claim: attempt! }
}

/** Returns whether the text is the position of an event, as cursors of `listEvents` contain it. */
export function isPosition(text: string): boolean {
  return isBetween(text, 1n, MAX_BIGINT)
}

/** Returns whether the text is an integer between these, written as Postgres writes it. */
function isBetween(text: string, least: bigint, most: bigint): boolean {
  if (!/^(0|-?[1-9]\d{0,18})$/.test(text)) return false
  const value = BigInt(text)
  return least <= value && value <= most
}
