import { StorageError } from '../../core/errors.js'
import { createAttemptId } from '../../core/store/attempt-id.js'
import type { StoreDriver } from '../../core/store/driver.js'
import { recordedChange, type ListedEvent, type RecordedChange } from '../../core/store/events.js'
import { CLAIM_LOOKAHEAD } from '../../core/store/inputs/events.js'
import type { Connection } from './connection/connection.js'
import type { Cells } from './connection/statement.js'
import { dateOf, objectFrom, objectText } from './rows.js'

/** Holds if the last claim of the event is this one. */
const HOLDS = 'WHERE seq = :seq AND claim = :claim'

const EVENT = 'seq, type, object, previous, created_at, attempts, due_at, claimed_until, reason'

interface DueEvent {
  readonly seq: number
  readonly dueAt: number
  readonly isLast: boolean
}

/** Ids are numbers, and none has more digits than this. Callers may pass any text. */
function numberOf(id: string): number | null {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : null
}

export function eventLog(connection: Connection) {
  const statement = (text: string) => connection.statement(text)
  const switched = statement('SELECT records_events FROM {schema_version}')
  const insert = statement(
    `INSERT INTO {events} (bucket, key, scope, type, object, previous, reason, created_at, due_at, is_oldest)
      VALUES (:bucket, :key, :scope, :type, :object, :previous, :reason, :now, :now,
        NOT EXISTS (SELECT 1 FROM {events} WHERE bucket = :bucket AND key = :key))`,
  )
  const due = statement(
    `SELECT seq, due_at, scope FROM {events} INDEXED BY {events_due}
      WHERE is_oldest = 1 AND (attempts > 0) = :isAgain AND due_at <= :now ORDER BY due_at, seq LIMIT :most`,
  )
  const dueOfObject = statement(
    `SELECT seq, due_at, scope, attempts FROM {events} INDEXED BY {events_key}
      WHERE bucket = :bucket AND key = :key ORDER BY seq LIMIT 1`,
  )
  const claim = statement(
    `UPDATE {events} SET claim = :claim, due_at = :until, claimed_until = :until, attempts = attempts + 1
      WHERE seq = :seq RETURNING ${EVENT}`,
  )
  const later = statement(
    `SELECT 1 FROM {events} own JOIN {events} later INDEXED BY {events_key}
        ON later.bucket = own.bucket AND later.key = own.key AND later.seq > own.seq
      WHERE own.seq = :seq LIMIT 1`,
  )
  const schedule = statement(
    `UPDATE {events} SET claim = :next, due_at = :dueAt, claimed_until = :claimedUntil ${HOLDS}`,
  )
  const remove = statement(`DELETE FROM {events} ${HOLDS} RETURNING bucket, key`)
  const promote = statement(
    `UPDATE {events} SET is_oldest = 1 WHERE seq = (
      SELECT seq FROM {events} INDEXED BY {events_key} WHERE bucket = :bucket AND key = :key ORDER BY seq LIMIT 1)`,
  )
  const page = statement(`SELECT ${EVENT} FROM {events} WHERE seq > :after ORDER BY seq LIMIT :limit`)
  const counts = statement(
    `SELECT count(*) FILTER (WHERE attempts = 0) AS waiting,
      count(*) FILTER (WHERE claimed_until > :now) AS claimed,
      count(*) FILTER (WHERE attempts > 0 AND ifnull(claimed_until <= :now, 1)) AS retrying FROM {events}`,
  )

  const hasNext = (seq: number) => later.first({ seq }) !== undefined

  /** Removes the event of a claim and marks the next one of its object. Returns whether the claim held. */
  function removeHeld(seq: number, token: string): boolean {
    const [held] = remove.rows({ seq, claim: token })
    if (held) promote.run({ bucket: held[0], key: held[1] })
    return held !== undefined
  }

  /** Sets when a claimed event is due: at the end of its claim, or for a retry without one (`null`). */
  function reschedule(seq: number, token: string, dueAt: Date, next: string | null): boolean {
    const claimedUntil = next === null ? null : dueAt
    return schedule.run({ seq, claim: token, dueAt, next, claimedUntil }) > 0
  }

  return {
    /** Records an event in the transaction of its change, if events are on. `seq` is the order of the changes. */
    record(change: RecordedChange, now: Date): void {
      if (!connection.recordsEvents) return
      const { type, object, previous } = change
      const { bucket, key, scope } = object
      insert.run({
        ...{ bucket, key, scope, type, now },
        reason: change.type === 'rejected' ? change.reason : null,
        object: objectText(object),
        previous: previous && objectText(previous),
      })
    },

    methods: {
      claimEvents: ({ limit, reference, attempted, lastScopes, now, until }) =>
        connection.write(() => {
          const dueEvent = ([seq, dueAt, scope]: Cells): DueEvent => ({
            ...{ seq: seq as number, dueAt: dueAt as number },
            isLast: lastScopes.includes(scope as string),
          })
          // Each kind has a range of the index.
          const kinds = attempted === null ? [false, true] : [attempted]
          const most = lastScopes.length > 0 ? Math.max(limit, CLAIM_LOOKAHEAD) : limit
          const isWanted = ([, dueAt, , attempts]: Cells) =>
            (dueAt as number) <= now.getTime() && kinds.includes((attempts as number) > 0)
          const found = reference
            ? dueOfObject.rows({ ...reference }).filter(isWanted)
            : kinds.flatMap((isAgain) => due.rows({ isAgain, now, most }))
          return found
            .map(dueEvent)
            .sort((a, b) => Number(a.isLast) - Number(b.isLast) || a.dueAt - b.dueAt)
            .slice(0, limit)
            .map(({ seq }) => {
              const token = createAttemptId({ now: () => now })
              const [cells] = claim.rows({ seq, claim: token, until })
              return { ...recordOf(cells!), claim: token, hasNext: hasNext(seq) }
            })
        }),

      settleEvents: ({ entries }) =>
        connection.write(() =>
          entries.flatMap(({ id, claim: token, retryAt }) => {
            const seq = numberOf(id)
            if (seq === null) return []
            const settled = { id, hasNext: hasNext(seq) }
            const isHeld = retryAt ? reschedule(seq, token, retryAt, null) : removeHeld(seq, token)
            return isHeld ? [settled] : []
          }),
        ),

      extendClaims: ({ entries, until }) =>
        connection.write(() => {
          const isHeld = (id: string, token: string) => {
            const seq = numberOf(id)
            return seq !== null && reschedule(seq, token, until, token)
          }
          return entries.filter((entry) => isHeld(entry.id, entry.claim)).map(({ id }) => id)
        }),

      async listEvents({ limit, after }) {
        const position = after === null ? 0 : numberOf(after)
        if (position === null) throw new StorageError('INVALID_CURSOR')
        const rows = await connection.read(() => page.rows({ after: position, limit: limit + 1 }))
        const items = rows.slice(0, limit).map(listedEvent)
        return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
      },

      countEvents: ({ now }) =>
        connection.read(() => {
          const [waiting, claimed, retrying] = counts.first({ now }) as readonly number[]
          return { waiting: waiting!, claimed: claimed!, retrying: retrying! }
        }),

      recordsEvents: () => connection.read(() => switched.first()?.[0] === 1),
    } satisfies Partial<StoreDriver>,
  }
}

export type EventLog = ReturnType<typeof eventLog>

function recordOf([seq, type, object, previous, createdAt, attempts, , , reason]: Cells) {
  const before = previous === null ? null : objectFrom(previous as string)
  return {
    ...recordedChange(
      type as string,
      objectFrom(object as string),
      before,
      (reason ?? null) as string | null,
    ),
    ...{ id: String(seq), createdAt: dateOf(createdAt), attempts: attempts as number },
  }
}

function listedEvent(cells: Cells): ListedEvent {
  const claimedUntil = cells[7] === null ? null : dateOf(cells[7])
  return { ...recordOf(cells), dueAt: dateOf(cells[6]), claimedUntil }
}
