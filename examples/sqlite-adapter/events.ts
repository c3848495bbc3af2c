import { createAttemptId, recordedChange, StorageError } from '@svc/db/adapter'
import type { EventClaim, EventCounts, ListedEvent, RecordedChange, StoreDriver } from '@svc/db/adapter'
import type { Connection } from './connection.ts'
import { recordsEvents } from './schema.ts'
import { withoutTracking } from './values.ts'

type DueRow = { readonly seq: number; readonly dueAt: Date; readonly owner: string | null }
type EventRow = Omit<ListedEvent, 'id'> & { readonly seq: number }

/** How many events of each kind a claim searches for other owners than `lastScopes`. */
const LOOKAHEAD = 250

/** Holds if the last claim of the event is this one. SQLite also compares `'1.0'` with 1, so the text is compared, too. */
const HOLDS = 'WHERE seq = :id AND CAST(seq AS TEXT) = :id AND claim = :claim'

/** Records an event in the transaction of its change, if events are on. `seq` is the order of the changes. */
export function recordEvent(connection: Connection, change: RecordedChange, now: Date): void {
  if (!recordsEvents(connection)) return
  const { bucket, key } = change.object
  const previous = change.previous && withoutTracking(change.previous)
  connection.run(
    `INSERT INTO events (bucket, key, type, object, previous, createdAt, dueAt, isOldest)
    VALUES (:bucket, :key, :type, :object, :previous, :now, :now,
      NOT EXISTS (SELECT 1 FROM events WHERE bucket = :bucket AND key = :key))`,
    { bucket, key, type: change.type, object: withoutTracking(change.object), previous, now },
  )
}

export function eventMethods(connection: Connection) {
  /** Sets when a claimed event is due: at the end of its claim or, if that ends now, for a retry. */
  function schedule({ id, claim }: EventClaim, dueAt: Date, next: string | null): boolean {
    const values = { id, claim, dueAt, next, claimedUntil: next === null ? null : dueAt }
    const text = `UPDATE events SET claim = :next, dueAt = :dueAt, claimedUntil = :claimedUntil ${HOLDS}`
    return connection.run(text, values) > 0
  }

  /** Removes an object's oldest event and marks the next one. */
  function remove(claim: EventClaim): boolean {
    const object = connection.get<object>(`DELETE FROM events ${HOLDS} RETURNING bucket, key`, claim)
    const next = 'SELECT min(seq) FROM events WHERE bucket = :bucket AND key = :key AND isOldest = 0'
    if (object) connection.run(`UPDATE events SET isOldest = 1 WHERE seq = (${next})`, object)
    return object !== undefined
  }

  function hasNext({ seq }: Pick<EventRow, 'seq'>): boolean {
    const later = `SELECT 1 FROM events later JOIN events own USING (bucket, key)
      WHERE own.seq = :seq AND later.seq > own.seq LIMIT 1`
    return connection.get(later, { seq }) !== undefined
  }

  return {
    async claimEvents({ limit, reference, attempted, lastScopes, now, until }) {
      const [index, ofObject] = reference
        ? ['events_key', 'bucket = :bucket AND key = :key AND']
        : ['events_dueAt', '']
      const owner = lastScopes.length > 0 ? "object ->> '$.scope'" : 'NULL'
      const due = `SELECT seq, dueAt, ${owner} AS owner FROM events INDEXED BY ${index}
        WHERE ${ofObject} isOldest = 1 AND (attempts > 0) = :isAgain AND dueAt <= :now
        ${reference ? '' : 'ORDER BY dueAt, seq'} LIMIT :most`
      const most = lastScopes.length > 0 ? Math.max(limit, LOOKAHEAD) : limit
      // Each kind has its own range of the index.
      const kinds = attempted === null ? [0, 1] : [Number(attempted)]
      const isLast = ({ owner }: DueRow) => owner !== null && lastScopes.includes(owner)
      const findDue = () =>
        kinds
          .flatMap((isAgain) => connection.all<DueRow>(due, { ...reference, isAgain, now, most }))
          .sort((a, b) => Number(isLast(a)) - Number(isLast(b)) || a.dueAt.getTime() - b.dueAt.getTime())
          .slice(0, limit)
      return connection.write(() =>
        findDue().flatMap(({ seq }) => {
          const claim = createAttemptId({ now: () => now })
          const rows = connection.all<EventRow>(
            `UPDATE events SET claim = :claim, dueAt = :until, claimedUntil = :until, attempts = attempts + 1
            WHERE seq = :seq RETURNING *`,
            { seq, claim, until },
          )
          return rows.map((row) => ({ ...recordOf(row), claim, hasNext: hasNext(row) }))
        }),
      )
    },
    settleEvents: async ({ entries }) =>
      connection.write(() =>
        entries.flatMap((entry) => {
          const settled = { id: entry.id, hasNext: hasNext({ seq: Number(entry.id) }) }
          const isHeld = entry.retryAt ? schedule(entry, entry.retryAt, null) : remove(entry)
          return isHeld ? [settled] : []
        }),
      ),
    extendClaims: async ({ entries, until }) =>
      connection.write(() =>
        entries.filter((entry) => schedule(entry, until, entry.claim)).map(({ id }) => id),
      ),
    async listEvents({ limit, after }) {
      if (after !== null && !/^[1-9]\d{0,14}$/.test(after)) throw new StorageError('INVALID_CURSOR')
      const text = 'SELECT * FROM events WHERE seq > :seq ORDER BY seq LIMIT :limit'
      const rows = connection.all<EventRow>(text, { seq: Number(after), limit: limit + 1 })
      const items = rows.slice(0, limit).map((row) => {
        const { dueAt, claimedUntil } = row
        return { ...recordOf(row), dueAt, claimedUntil }
      })
      return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
    },
    async countEvents(query) {
      const counts = connection.get<EventCounts>(
        `SELECT count(*) FILTER (WHERE attempts = 0) AS waiting,
          count(*) FILTER (WHERE claimedUntil > :now) AS claimed,
          count(*) FILTER (WHERE attempts > 0 AND ifnull(claimedUntil <= :now, 1)) AS retrying FROM events`,
        query,
      )
      return counts ?? { waiting: 0, claimed: 0, retrying: 0 }
    },
    recordsEvents: async () => recordsEvents(connection),
  } satisfies Partial<StoreDriver>
}

function recordOf({ seq, type, object, previous, createdAt, attempts }: EventRow) {
  return { ...recordedChange(type, object, previous), id: String(seq), createdAt, attempts }
}
