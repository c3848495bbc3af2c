import pg from 'pg'
import { createAttemptId, deliverEvents } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'

/**
 * Loads one process with uploads, lists, changes, removals, events and jobs, at a steady rate. Prints one JSON line a tenth of
 * the time: what the process holds, and the median time of each call. Needs `--expose-gc`.
 */

/** Loops that start in a second. Each makes every call once. */
const PER_SECOND = 10
const TENTHS = 10
/** Objects that stay, each in turn replaced or removed. */
const OBJECTS = 500
const SCOPES = 20
const BUCKET = 'soak'
const HISTORY_SECONDS = 30
/** Often enough that the median of a tenth is steady. */
const CLEAN_UP_MILLISECONDS = 1000

const [url, schema, seconds] = process.argv.slice(2) as [string, string, string]
const length = Number(seconds) * 1000
const pool = new pg.Pool({ connectionString: url, max: 8 })
const store = postgresAdapter(pool, { schema, events: true })
const stop = new AbortController()
const start = performance.now()

let times = new Map<string, number[]>()
async function timed<Result>(name: string, call: () => Promise<Result>): Promise<Result> {
  const before = performance.now()
  const result = await call()
  const known = times.get(name) ?? []
  times.set(name, known)
  known.push(performance.now() - before)
  return result
}

const quota = { maxBytes: 1e12, maxFiles: 1e6 }

async function loop(number: number): Promise<void> {
  const scope = `user ${number % SCOPES}`
  const key = `files/${number % OBJECTS}`
  const id = createAttemptId()
  const at = { bucket: BUCKET, key, scope }
  // Of ten uploads, one is abandoned. The others may take long on a busy machine.
  const isAbandoned = number % 10 === 0
  const expiresAt = new Date(Date.now() + (isAbandoned ? 5000 : 60_000))
  await timed('reserve', () =>
    store.reserve({
      ...{ ...at, id, quota, storageKey: `${key}~${id}`, declaredSize: 1000, route: 'files', expiresAt },
    }),
  )
  if (isAbandoned) return
  await timed('confirm', () => store.confirm({ ...at, id, size: 1000, eTag: 'e', quota }))
  await timed('listByScope', () => store.listByScope({ scope, limit: 50 }))
  await timed('listByScope, pending', () => store.listByScope({ scope, limit: 50, status: 'pending' }))
  await timed('getScopeUsage', () => store.getScopeUsage(scope))
  await timed('update', () => store.update({ ...at, metadata: { number: String(number) } }))
  if (number % 3 === 0) await timed('remove', () => store.remove({ ...at, mode: 'soft' }))
}

/** The jobs of the database, without a bucket. */
async function cleanUp(): Promise<void> {
  await timed('purgeExpired', () => store.purgeExpired({ limit: 1000 }))
  const before = new Date(Date.now() - HISTORY_SECONDS * 1000)
  await timed('purgeDeleted', () => store.purgeDeleted({ before, limit: 1000 }))
  const due = await timed('listLeftovers', () => store.listLeftovers({ dueBefore: new Date(), limit: 1000 }))
  for (const { attemptId } of due) await store.forgetLeftover({ attemptId })
}

async function report(tenth: number): Promise<void> {
  const calls: Record<string, number> = {}
  for (const [name, taken] of times) calls[name] = taken.sort((a, b) => a - b)[taken.length >> 1]!
  times = new Map()
  const { rows } = await pool.query<{ relname: string; dead: string }>(
    `SELECT relname, n_dead_tup AS dead FROM pg_stat_user_tables WHERE schemaname = $1`,
    [schema],
  )
  globalThis.gc!()
  const { heapUsed, rss } = process.memoryUsage()
  const handles = process.getActiveResourcesInfo().filter((name) => name !== 'Timeout').length
  const dead = Object.fromEntries(rows.map(({ relname, dead }) => [relname, Number(dead)]))
  console.log(JSON.stringify({ tenth, heapUsed, rss, handles, dead, calls }))
}

const delivery = deliverEvents(store, {
  ...{ pollSeconds: 1, signal: stop.signal },
  onEvent: () => Promise.resolve(),
  onError: (error) => console.error(error),
})

const running = new Set<Promise<void>>()
let [number, tenth, cleaned] = [0, 0, 0]
const timer = setInterval(() => {
  const elapsed = performance.now() - start
  const track = (work: Promise<void>) => {
    const tracked = work.catch((error: unknown) => {
      console.error(error)
      process.exitCode = 1
    })
    running.add(tracked)
    void tracked.finally(() => running.delete(tracked))
  }
  track(loop(number++))
  if (elapsed - cleaned >= CLEAN_UP_MILLISECONDS) {
    cleaned = elapsed
    track(cleanUp())
  }
  if (elapsed < ((tenth + 1) * length) / TENTHS) return
  tenth++
  track(report(tenth))
  if (tenth === TENTHS) void end()
}, 1000 / PER_SECOND)

async function end(): Promise<void> {
  clearInterval(timer)
  await Promise.all(running)
  stop.abort()
  await delivery
  await pool.end()
}
