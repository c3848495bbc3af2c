import {
  createAttemptId,
  recordedChange,
  StorageError,
  type EventClaim,
  type RecordedChange,
  type StoreDriver,
} from '@svc/db/adapter'
import type { Connection } from './connection.ts'
import { toObject, toStored, type StoredObject } from './rows.ts'
import { recordsEvents } from './schema.ts'

type Events = Pick<
  Required<StoreDriver>,
  'claimEvents' | 'settleEvents' | 'extendClaims' | 'listEvents' | 'countEvents' | 'recordsEvents'
>

interface EventRow {
  readonly seq: number
  readonly type: string
  readonly object: string
  readonly previous: string | null
  readonly createdAt: number
  readonly attempts: number
  readonly dueAt: number
  readonly claimedUntil: number | null
}

/** Records an event in the transaction of its change, if events are on. `seq` is the order of the changes. */
export function recordEvent(connection: Connection, change: RecordedChange, now: Date): void {
  if (!recordsEvents(connection)) return
  const { bucket, key } = change.object
  connection.run(
    `INSERT INTO events (bucket, key, type, object, previous, createdAt, dueAt, isOldest)
    VALUES (:bucket, :key, :type, :object, :previous, :now, :now,
      NOT EXISTS (SELECT 1 FROM events WHERE bucket = :bucket AND key = :key))`,
    {
      ...{ bucket, key, type: change.type, now: now.getTime() },
      object: JSON.stringify(toStored(change.object)),
      previous: change.previous && JSON.stringify(toStored(change.previous)),
    },
  )
}

export function eventMethods(connection: Connection): Events {
  /** Changes each event whose last claim is the given one. Returns the ids of these events. */
  function settle<Entry extends EventClaim>(
    entries: readonly Entry[],
    change: (seq: number, entry: Entry) => void,
  ) {
    return connection.write(() =>
      entries
        .filter((entry) => {
          const seq = positionOf(entry.id)
          const claim = connection.get<{ claim: string | null }>(
            'SELECT claim FROM events WHERE seq = :seq',
            { seq },
          )
          if (seq === null || claim?.claim !== entry.claim) return false
          change(seq, entry)
          return true
        })
        .map(({ id }) => id),
    )
  }

  /** Sets when an event is due: at the end of a claim or, without one, for a retry. */
  function schedule(seq: number, claim: string | null, dueAt: Date): void {
    connection.run(
      'UPDATE events SET claim = :claim, dueAt = :dueAt, claimedUntil = :claimedUntil WHERE seq = :seq',
      { seq, claim, dueAt: dueAt.getTime(), claimedUntil: claim === null ? null : dueAt.getTime() },
    )
  }

  /** Removes an object's oldest event and marks the next one. */
  function remove(seq: number): void {
    const reference = connection.get<{ bucket: string; key: string }>(
      'DELETE FROM events WHERE seq = :seq RETURNING bucket, key',
      { seq },
    )
    connection.run(
      `UPDATE events SET isOldest = 1
      WHERE seq = (SELECT seq FROM events WHERE bucket = :bucket AND key = :key ORDER BY seq LIMIT 1)`,
      { ...reference },
    )
  }

  return {
    async claimEvents({ limit, reference, now, until }) {
      return connection.write(() => {
        const ofObject = reference ? 'bucket = :bucket AND key = :key AND' : ''
        const due = connection.all<EventRow>(
          `SELECT * FROM events WHERE ${ofObject} isOldest = 1 AND dueAt <= :now ORDER BY dueAt, seq LIMIT :limit`,
          { now: now.getTime(), limit, ...(reference && { bucket: reference.bucket, key: reference.key }) },
        )
        return due.map((row) => {
          const claim = createAttemptId({ now: () => now })
          const attempts = row.attempts + 1
          schedule(row.seq, claim, until)
          connection.run('UPDATE events SET attempts = :attempts WHERE seq = :seq', {
            attempts,
            seq: row.seq,
          })
          return { ...recordOf(row), attempts, claim }
        })
      })
    },
    async settleEvents({ entries }) {
      return settle(entries, (seq, { retryAt }) =>
        retryAt === null ? remove(seq) : schedule(seq, null, retryAt),
      )
    },
    async extendClaims({ entries, until }) {
      return settle(entries, (seq, { claim }) => schedule(seq, claim, until))
    },

    async listEvents({ limit, after }) {
      const position = after === null ? 0 : positionOf(after)
      if (position === null) throw new StorageError('INVALID_CURSOR')
      const rows = connection.all<EventRow>(
        'SELECT * FROM events WHERE seq > :position ORDER BY seq LIMIT :limit + 1',
        { position, limit },
      )
      const items = rows.slice(0, limit).map((row) => ({
        ...recordOf(row),
        attempts: row.attempts,
        dueAt: new Date(row.dueAt),
        claimedUntil: row.claimedUntil === null ? null : new Date(row.claimedUntil),
      }))
      return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
    },
    async countEvents({ now }) {
      const counts = connection.get<{ waiting: number; claimed: number; retrying: number }>(
        `SELECT count(*) FILTER (WHERE attempts = 0) AS waiting,
          count(*) FILTER (WHERE attempts > 0 AND claimedUntil > :now) AS claimed,
          count(*) FILTER (WHERE attempts > 0 AND (claimedUntil IS NULL OR claimedUntil <= :now)) AS retrying
        FROM events`,
        { now: now.getTime() },
      )
      return { waiting: 0, claimed: 0, retrying: 0, ...counts }
    },
    async recordsEvents() {
      return recordsEvents(connection)
    },
  }
}

/** Returns the `seq` that an id or a cursor names, or `null` if it can't be one. */
function positionOf(text: string): number | null {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : null
}

function recordOf({ seq, type, object, previous, createdAt }: EventRow) {
  const rowOf = (json: string) => toObject(JSON.parse(json) as StoredObject)
  return {
    ...recordedChange(type, rowOf(object), previous === null ? null : rowOf(previous)),
    id: String(seq),
    createdAt: new Date(createdAt),
  }
}
