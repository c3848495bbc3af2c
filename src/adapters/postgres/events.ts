import { StorageError } from '../../core/errors.js'
import type { StoreDriver } from '../../core/store/driver.js'
import {
  type ListedEvent,
  recordedChange,
  type SettledEvent,
  type StoredEvent,
} from '../../core/store/events.js'
import type { EventClaim } from '../../core/store/inputs/index.js'
import type { StorageObject } from '../../core/store/records.js'
import type { TextRow } from './connection/database.js'
import type { IndexMarks } from './index-marks.js'
import { FROM_START, type Looked } from './low-water-mark.js'
import type { Calls } from './connection/retries.js'
import { readDate, readFirst, readNumber, readObject, startText } from './sql/rows.js'
import type { Statements } from './sql/statement.js'

/** Maximum events that one transaction settles. It locks their keys, and all sessions share the server's lock table. */
const SETTLE_BATCH_SIZE = 200

/** Creates the event methods. A repeated claim would claim more events, and a repeated settlement miss settled ones. */
export function createEventMethods(
  { idempotent, once }: Calls,
  statements: Statements['events'],
  { firstEvents, retries, listedEvents }: Pick<IndexMarks, 'firstEvents' | 'retries' | 'listedEvents'>,
) {
  const listFirst = (limit: number) =>
    listedEvents.look(async (from, readsDrawn) => {
      const statement = readsDrawn ? statements.listFirst : statements.list
      const found = await idempotent(statement, [String(from), limit])
      // A row without an id only tells the last number.
      const result = found.filter((row) => row[2] != null)
      const [first, drawn] = [result[0]?.[2], found[0]?.[11]]
      return {
        result,
        first: first == null ? null : BigInt(first),
        drawn: drawn == null ? null : BigInt(drawn),
      }
    })

  return {
    async claimEvents({ limit, reference, attempted, lastScopes, now, until }) {
      const { bucket, key } = reference ?? { bucket: null, key: null }
      const last = lastScopes.length > 0 ? JSON.stringify(lastScopes) : null
      const values = [bucket, key, attempted, limit, now.toISOString(), until.toISOString(), last]
      const claim = async (fromFirst: number, fromRetries: number) => {
        const rows = await once(statements.claim, [...values, startText(fromFirst), startText(fromRetries)])
        return { result: readClaimed(rows), first: readFirst(rows, 10), firstRetry: readFirst(rows, 11) }
      }
      if (reference !== null) return (await claim(FROM_START, FROM_START)).result
      const upto = now.getTime()
      if (attempted === false) {
        return (await firstEvents.look(upto, (from) => claim(from, FROM_START))).result
      }
      const claimRetries = async (fromFirst: number) => {
        let first: number | null = null
        const { result } = await retries.look(upto, async (from) => {
          const claimed = await claim(fromFirst, from)
          first = claimed.first
          return { ...claimed, first: claimed.firstRetry }
        })
        return { result, first } satisfies Looked<StoredEvent[]>
      }
      if (attempted === true) return (await claimRetries(FROM_START)).result
      return (await firstEvents.look(upto, claimRetries)).result
    },

    async settleEvents({ entries }) {
      const settled: SettledEvent[] = []
      for (let from = 0; from < entries.length; from += SETTLE_BATCH_SIZE) {
        const batch = entries.slice(from, from + SETTLE_BATCH_SIZE)
        const places = batch.flatMap((entry) => {
          const place = parseClaim(entry)
          return place === null ? [] : [Object.assign(place, { retry_at: entry.retryAt })]
        })
        if (places.length === 0) continue
        try {
          const rows = await once(statements.settle, [JSON.stringify(places)])
          const nextDue = readFirst(rows, 2)
          if (nextDue !== null) firstEvents.lower(nextDue)
          settled.push(...heldOf(places, rows).map(([id, [, hasNext]]) => ({ id, hasNext: hasNext === 't' })))
        } catch (error) {
          if (settled.length === 0) throw error
          firstEvents.lower(FROM_START)
          return settled
        }
      }
      return settled
    },

    async extendClaims({ entries, until }) {
      const places = entries.map(parseClaim).filter((place) => place !== null)
      if (places.length === 0) return []
      const values = [JSON.stringify(places), until.toISOString()]
      return heldOf(places, await idempotent(statements.extend, values)).map(([id]) => id)
    },

    async listEvents({ limit, after }) {
      if (after !== null && !isPosition(after)) throw new StorageError('INVALID_CURSOR')
      const rows =
        after === null ? await listFirst(limit + 1) : await idempotent(statements.list, [after, limit + 1])
      return {
        items: rows.slice(0, limit).map(readListedEvent),
        next: rows.length > limit ? rows[limit - 1]![2]! : null,
      }
    },

    async countEvents({ now }) {
      const [row] = await idempotent(statements.count, [now.toISOString()])
      const [waiting, claimed, all] = [row?.[0], row?.[1], row?.[2]].map(readNumber)
      return { waiting: waiting!, claimed: claimed!, retrying: all! - waiting! - claimed! }
    },

    recordsEvents: async () => (await idempotent(statements.isOn, [])).length > 0,
  } satisfies Partial<StoreDriver>
}

/** Returns the events whose claim held, in the order of `places`: the public id, and the row, which begins with the last part of the id. */
function heldOf(places: readonly EventPlace[], rows: readonly TextRow[]): [id: string, row: TextRow][] {
  const byPosition = new Map(rows.map((row) => [row[0], row]))
  return places.flatMap((place) => {
    const row = byPosition.get(place.id)
    return row ? [[eventId(place), row]] : []
  })
}

/** Reads the events of a claim in the order that its first row tells. */
function readClaimed([order, ...rows]: readonly TextRow[]): StoredEvent[] {
  const byPosition = new Map(rows.map((row) => [row[2], row]))
  const positions = order?.[12] ? order[12].split(',') : []
  return positions.map((position) => readEvent(byPosition.get(position)!))
}

function readEvent(row: TextRow): StoredEvent {
  // The token contains the position, so that no two claims have the same one.
  return Object.assign(readChange(row), { claim: `${row[2]}.${row[7]}`, hasNext: row[9] === 't' })
}

function readListedEvent(row: TextRow): ListedEvent {
  const dueAt = readDate(row[9])
  return Object.assign(readChange(row), { dueAt, claimedUntil: row[10] === 't' ? new Date(dueAt) : null })
}

function readChange(row: TextRow) {
  const previous = row[5] == null ? null : readRow(row[5])
  return Object.assign(recordedChange(row[3]!, readRow(row[4]!), previous, row[8] ?? null), {
    id: eventId({ digest: row[0]!, number: row[1]!, id: row[2]! }),
    createdAt: readDate(row[6]),
    attempts: readNumber(row[7]),
  })
}

function readRow(text: string): StorageObject {
  return readObject(JSON.parse(text) as TextRow)!
}

const EVENT_ID = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.(0|-?[1-9]\d{0,18})\.([1-9]\d{0,18})$/
const CLAIM = /^([1-9]\d{0,18})\.([1-9]\d{0,9})$/

/** A claimed event as the functions of the schema take it. Numbers are strings, because a number can't hold every bigint. */
interface EventPlace {
  readonly digest: string
  /** The number of the lock of the object's key. */
  readonly number: string
  readonly id: string
  readonly claim: string
}

/** Returns the public id of an event. It identifies the object too, so that a lookup can use any index of events. */
function eventId({ digest, number, id }: Omit<EventPlace, 'claim'>): string {
  return `${digest}.${number}.${id}`
}

/** Returns what the id and the claim of an event mean, or `null` if no event can have them. Postgres would reject them. */
function parseClaim({ id, claim }: EventClaim): EventPlace | null {
  const [, digest, number, position] = EVENT_ID.exec(id) ?? []
  const [, ofPosition, attempt] = CLAIM.exec(claim) ?? []
  if (digest === undefined || ofPosition !== position) return null
  if (!fits(number!, 64) || !fits(position!, 64) || !fits(attempt!, 32)) return null
  return { digest, number: number!, id: position!, claim: attempt! }
}

/** Returns whether the text is the position of an event, as cursors of `listEvents` contain it. */
function isPosition(text: string): boolean {
  return /^[1-9]\d{0,18}$/.test(text) && fits(text, 64)
}

function fits(text: string, bits: number): boolean {
  return BigInt.asIntN(bits, BigInt(text)) === BigInt(text)
}
