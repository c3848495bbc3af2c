import { createAttemptId, StorageError, type StorageObjectStore } from '@svc/db'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describeOwnDatabase, freshSchema, poolOf, quoted } from './schemas.js'
import { callsOfVersion15 } from './version-1-5.js'

const CONNECTIONS = 16
const CALLS = 600
const BUCKET = 'bucket'
/** Every write for one of these has the quota. Not in the order of their bytes. */
const SCOPES = ['dan', 'Bob', 'ann', 'cid']
const KEYS = Array.from({ length: 60 }, (_, index) => `key ${index}`)
const QUOTA = { maxBytes: 60, maxFiles: 5 }
const SIZE = 20

const pick = <T>(values: readonly T[]) => values[Math.floor(Math.random() * values.length)]!
const soon = () => new Date(Date.now() + (Math.random() < 0.3 ? 20 : 60_000))

describeOwnDatabase(`transfers beside all other writes on ${CONNECTIONS} connections`, (url) => {
  const schema = freshSchema()
  const observer = poolOf(url, { max: 1 })
  let pool: pg.Pool
  beforeAll(async () => {
    pool = poolOf(url, { max: CONNECTIONS })
    await postgresAdapter(pool, { schema, events: true }).migrate()
  })
  afterAll(async () => {
    await Promise.all([pool.end(), observer.end()])
  })

  it('never deadlocks, exceeds no quota and keeps the sums correct', async () => {
    const store = postgresAdapter(pool, { schema })
    const before = callsOfVersion15(pool, schema)
    const done = new Map<string, number>()
    let isOver = false
    const writers = Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        for (let call = 0; call < CALLS; call++) await writeOnce(store, before, done)
      }),
    ).finally(() => (isOver = true))
    // Awaited below. Until then a failure must not count as an unhandled rejection.
    writers.catch(() => {})
    while (!isOver) {
      expect(await violations()).toEqual([])
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await writers

    for (const kind of ['transfer', 'adopt', 'update', 'quota', 'conflict']) {
      expect(done.get(kind) ?? 0, kind).toBeGreaterThan(0)
    }
    expect(await violations()).toEqual([])
    expect(await brokenHistories()).toEqual([])
    expect(await store.checkUsage()).toEqual([])
    expect(await store.verify()).toEqual([])
  })

  it('transfers in both directions between two scopes', async () => {
    const store = postgresAdapter(pool, { schema })
    const keys = KEYS.slice(0, CONNECTIONS).map((key) => ({ bucket: 'both ways', key }))
    for (const at of keys) await store.adopt({ ...at, ...bytesOf(at.key), scope: 'one' })
    await Promise.all(
      keys.map(async (at, index) => {
        for (let call = index; call < index + 60; call++) {
          const [from, to] = call % 2 === 0 ? ['one', 'two'] : ['two', 'one']
          await store.transfer({ ...at, from, to })
        }
      }),
    )
    expect(await store.checkUsage()).toEqual([])
  })

  it('adopts the same bytes once, under whatever keys', async () => {
    const first = await pool.connect()
    try {
      await first.query('BEGIN')
      const bytes = { bucket: 'once', ...bytesOf('the same bytes') }
      const adopted = await postgresAdapter(first, { schema }).adopt({ ...bytes, key: 'a', scope: 'one' })
      let isDone = false
      const second = postgresAdapter(pool, { schema })
        .adopt({ ...bytes, key: 'b', scope: 'two' })
        .finally(() => (isDone = true))
      // Without the wait for the lock, the second call would return before the first commits.
      while (!isDone && !(await isWaiting())) await new Promise((resolve) => setTimeout(resolve, 5))
      await first.query('COMMIT')
      expect(adopted.known).toBe(false)
      expect(await second).toEqual({ object: adopted.object, known: true })
    } finally {
      first.release(true)
    }
  })

  async function isWaiting(): Promise<boolean> {
    const { rows } = await observer.query(
      `SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
       WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`,
    )
    return rows.length > 0
  }

  /** Returns scopes over their quota or below zero, keys of two scopes, and bytes that two live rows name. */
  async function violations(): Promise<unknown[]> {
    const { rows } = await observer.query<Record<string, unknown>>(
      `SELECT 'over quota' AS violation, scope AS of FROM ${quoted(schema)}.scope_usage
       WHERE scope = ANY ($3) AND (bytes + reserved_bytes > $1 OR files + reserved_files > $2)
         OR least(bytes, files, reserved_bytes, reserved_files, pending_rows, deleted_rows) < 0
       UNION ALL
       SELECT 'two owners', key FROM ${quoted(schema)}.objects WHERE status <> 'deleted'
       GROUP BY bucket, key HAVING count(DISTINCT scope) > 1
       UNION ALL
       SELECT 'two names', coalesce(storage_key, key) FROM ${quoted(schema)}.objects
       WHERE status <> 'deleted' GROUP BY bucket, coalesce(storage_key, key) HAVING count(*) > 1`,
      [QUOTA.maxBytes, QUOTA.maxFiles, SCOPES],
    )
    return rows
  }

  /** Returns events whose previous row is not the one that the event before left. */
  async function brokenHistories(): Promise<unknown[]> {
    const { rows } = await observer.query<Record<string, unknown>>(
      `SELECT e.type, e.object, e.previous, e.before FROM (
         SELECT e.*, lag(CASE WHEN e.type <> 'deleted' THEN e.object END) OVER (PARTITION BY e.object_digest ORDER BY e.id) AS before
         FROM ${quoted(schema)}.events e
       ) e WHERE e.type <> 'deleted' AND e.previous IS DISTINCT FROM e.before`,
    )
    return rows
  }
})

const bytesOf = (storageKey: string) => ({ storageKey, size: 1, createdAt: new Date() })

/** Makes one random write. Counts what succeeded, and what the contract refuses. */
async function writeOnce(
  store: StorageObjectStore,
  before: ReturnType<typeof callsOfVersion15>,
  done: Map<string, number>,
): Promise<void> {
  const key = pick(KEYS)
  const at = { bucket: BUCKET, key }
  const [scope, to] = [pick(SCOPES), pick(SCOPES)]
  const calls: Record<string, () => Promise<unknown>> = {
    async reserve() {
      const id = createAttemptId()
      await store.reserve({
        ...at,
        id,
        scope,
        declaredSize: Math.ceil(Math.random() * SIZE),
        expiresAt: soon(),
        quota: QUOTA,
        storageKey: `${key}~${id}`,
      })
    },
    async upload() {
      const owner = (await store.findActive(at))?.scope ?? scope
      const row = await store.reserve({
        ...at,
        scope: owner,
        declaredSize: SIZE,
        expiresAt: soon(),
        quota: QUOTA,
        storageKey: `${key}~${createAttemptId()}`,
      })
      await store.confirm({
        ...at,
        id: row.id,
        scope: owner,
        size: Math.ceil(Math.random() * SIZE),
        quota: QUOTA,
      })
    },
    async transfer() {
      const from = (await store.findActive(at))?.scope ?? scope
      return from !== to && store.transfer({ ...at, from, to, quota: QUOTA })
    },
    update: () => store.update({ ...at, filename: `${Math.random()}`, metadata: { a: `${Math.random()}` } }),
    adopt: async () => {
      const { known } = await store.adopt({
        ...at,
        scope: `adopter ${pick(SCOPES)}`,
        storageKey: `bytes ${pick(KEYS)}`,
        size: 1,
        createdAt: new Date(),
      })
      return !known
    },
    remove: () => store.remove({ ...at, mode: pick(['soft', 'hard']) }),
    purge: () => store.purgeExpired({ limit: 5 }),
    purgeDeleted: () => store.purgeDeleted({ before: new Date(), limit: 5 }),
    async repair() {
      const differences = await store.repairUsage(scope)
      if (differences.length > 0) throw new Error(`wrong sums: ${JSON.stringify(differences)}`)
    },
    async clean() {
      for (const { attemptId } of await store.listLeftovers({ limit: 20 })) {
        await store.forgetLeftover({ attemptId })
      }
    },
    async uploadOf15() {
      await before.confirm(await before.reserve({ scope: `old ${scope}`, key }))
    },
    batchOf15: () => before.batch(`old ${scope}`, [key, pick(KEYS), pick(KEYS)]),
    removeOf15: () => before.remove({ scope, key }),
  }
  const kind = pick(Object.keys(calls))
  try {
    if (await calls[kind]!()) done.set(kind, (done.get(kind) ?? 0) + 1)
  } catch (error) {
    const refusals: Record<string, string> = {
      KEY_CONFLICT: 'conflict',
      QUOTA_EXCEEDED: 'quota',
      OBJECT_NOT_FOUND: 'gone',
    }
    const refusal = error instanceof StorageError ? refusals[error.code] : undefined
    if (refusal === undefined) throw error
    done.set(refusal, (done.get(refusal) ?? 0) + 1)
  }
}
