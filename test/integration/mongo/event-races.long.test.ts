import { createAttemptId, type StorageObjectStore, type StoredEvent } from '@svc/db'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

const KEYS = 6
const CLIENTS = 4
const WRITERS = 3
const WRITES = 30
const CLAIMERS = 4
const CLAIM_SECONDS = 2
/** How much faster than time the clocks run, so that claims expire. */
const PACE = 20

/** A claim as its caller saw it. Steps count the calls and responses of all callers. */
interface Claim {
  readonly event: StoredEvent
  /** The time of the call. */
  readonly from: number
  /** The end of the claim. Changes if it is extended. */
  until: number
  readonly calledAt: number
  readonly claimedAt: number
  /** The step in which the caller settled the claim. Until then it works on the object. */
  settledAt: number
}

interface Settled {
  readonly claim: Claim
  /** The step of the response. */
  readonly at: number
}

const at = (key: string) => ({ bucket: 'bucket', key })
const random = (below: number) => Math.floor(Math.random() * below)
const nameOf = (type: string, attemptId: string) => `${type} ${attemptId}`

describeMongo(
  `events under ${CLIENTS} clients with ${WRITERS} writers and ${CLAIMERS} claimers each`,
  (url) => {
    const clients = Array.from({ length: CLIENTS }, () => clientOf(url))
    afterAll(() => Promise.all(clients.map((client) => client.close())))

    it('are delivered in order, to one caller at a time, and never lost or repeated', async () => {
      const { databaseName } = freshDatabase(clients[0]!)
      const databases = clients.map((client) => client.db(databaseName))
      onTestFinished(async () => void (await databases[0]!.dropDatabase()))
      const started = Date.now()
      const clock = () => started + (Date.now() - started) * PACE
      await mongoAdapter(databases[0]!, { events: true }).migrate()

      const recorded: string[] = []
      const claims: Claim[] = []
      const settled: Settled[] = []
      let step = 0
      let isWritten = false

      async function write(store: StorageObjectStore): Promise<void> {
        for (let i = 0; i < WRITES; i++) {
          const reference = at(`key ${random(KEYS)}`)
          if (random(3) === 0) {
            const row = await store.remove({ ...reference, mode: random(2) ? 'soft' : 'hard' })
            if (row && row.status !== 'pending') recorded.push(nameOf('deleted', row.attemptId))
            continue
          }
          const id = createAttemptId()
          const expiresAt = new Date(clock() + 3_600_000)
          const attempt = { id, scope: 'scope', ...reference, declaredSize: 1, expiresAt, overwrite: true }
          try {
            await store.reserve(attempt)
            await store.confirm({ ...reference, id, size: 1 })
            recorded.push(nameOf('activated', id))
          } catch (error) {
            // Another writer has replaced or removed the attempt.
            expect(error).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
          }
        }
      }

      /** Claims events as a separate process would, one call at a time, so that the time of each call is known. */
      async function deliver(database: (typeof databases)[number]): Promise<void> {
        let now = 0
        const store = mongoAdapter(database, { now: () => new Date((now = clock())) })
        while (!isWritten || (await waiting(store)) > 0) {
          const calledAt = ++step
          const reference = random(4) === 0 ? at(`key ${random(KEYS)}`) : {}
          const events = await store.claimEvents({
            ...{ limit: 1 + random(KEYS), claimSeconds: CLAIM_SECONDS },
            ...reference,
          })
          const claimedAt = ++step
          const own = events.map((event): Claim => {
            const until = now + CLAIM_SECONDS * 1000
            return { event, from: now, until, calledAt, claimedAt, settledAt: Infinity }
          })
          claims.push(...own)
          await pause(random(10))
          // As if the process died: it never settles.
          if (random(10) === 0) continue
          if (random(3) === 0) {
            const held = await store.extendClaims(events, { claimSeconds: CLAIM_SECONDS })
            for (const claim of own) {
              if (held.includes(claim.event.id)) claim.until = now + CLAIM_SECONDS * 1000
            }
            await pause(random(10))
          }
          const entries = events.map(({ id, claim }) => ({
            ...{ id, claim },
            ...(random(10) === 0 && { retryAt: new Date(clock() + random(2000) - 1000) }),
          }))
          step++
          for (const claim of own) claim.settledAt = step
          const ended = await store.settleEvents(entries)
          step++
          const removed = entries.filter(({ id, retryAt }) => retryAt === undefined && ended.includes(id))
          const ids = new Set(removed.map(({ id }) => id))
          const responseAt = step
          for (const claim of own) if (ids.has(claim.event.id)) settled.push({ claim, at: responseAt })
        }
      }

      const storeOf = (database: (typeof databases)[number]) =>
        mongoAdapter(database, { now: () => new Date(clock()) })
      const writing = databases.flatMap((database) => {
        const store = storeOf(database)
        return Array.from({ length: WRITERS }, () => write(store))
      })
      const delivering = databases.flatMap((database) =>
        Array.from({ length: CLAIMERS }, () => deliver(database)),
      )
      await Promise.all(writing)
      isWritten = true
      await Promise.all(delivering)

      const delivered = settled.map(
        ({
          claim: {
            event: { type, object },
          },
        }) => nameOf(type, object.attemptId),
      )
      expect(delivered.sort()).toEqual(recorded.sort())
      expect(overlaps(claims)).toEqual([])
      expect(lateClaims(claims, settled)).toEqual([])
      expect(claims.length).toBeGreaterThan(settled.length)
      for (const key of new Set(claims.map(({ event }) => event.object.key))) {
        expect(orderOf(settled, key)).toEqual([])
      }
      const store = storeOf(databases[0]!)
      expect(await store.countEvents()).toEqual({ waiting: 0, claimed: 0, retrying: 0 })
      expect(await databases[0]!.collection('svc_db_events').countDocuments()).toBe(0)
      expect(await store.checkUsage()).toEqual([])
    })
  },
)

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

async function waiting(store: StorageObjectStore): Promise<number> {
  const { waiting, claimed, retrying } = await store.countEvents()
  return waiting + claimed + retrying
}

/** Returns pairs of claims of one object whose callers worked at the same time, although neither had expired. */
function overlaps(claims: readonly Claim[]): unknown[] {
  return claims.flatMap((a, i) =>
    claims
      .slice(i + 1)
      .filter((b) => a.event.object.key === b.event.object.key)
      .filter((b) => Math.max(a.claimedAt, b.claimedAt) < Math.min(a.settledAt, b.settledAt))
      .filter((b) => Math.max(a.from, b.from) < Math.min(a.until, b.until))
      .map((b) => [a, b]),
  )
}

/** Returns claims of events whose settlement was acknowledged before the call. */
function lateClaims(claims: readonly Claim[], settled: readonly Settled[]): unknown[] {
  const settledAt = new Map(settled.map(({ claim, at }) => [claim.event.id, at]))
  return claims.filter(({ event, calledAt }) => calledAt > (settledAt.get(event.id) ?? Infinity))
}

/** Returns the settled events of a key that don't continue the change before them. */
function orderOf(settled: readonly Settled[], key: string): unknown[] {
  let active: string | null = null
  return settled
    .map(({ claim }) => claim)
    .filter(({ event }) => event.object.key === key)
    .sort((a, b) => a.claimedAt - b.claimedAt)
    .filter(({ event: { type, object, previous } }) => {
      const before = type === 'deleted' ? object.attemptId : (previous?.attemptId ?? null)
      const continues = before === active
      active = type === 'deleted' ? null : object.attemptId
      return !continues
    })
}
