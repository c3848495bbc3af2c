import type { EventPage, StorageObjectStore } from '@svc/db'
import postgres from 'postgres'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { tcpRelay, type TcpRelay } from '../drivers/tcp-relay.js'
import { startWithStandbys, type PrivateClusters } from '../../servers/private-cluster.js'
import { until } from '../../until.js'
import { attempt, BUCKET } from './attempt.js'
import { describePrivatePostgres, freshSchema, poolOf } from './schemas.js'

const CALLERS = 8
/** Uploads or refusals that a part of the test waits for. */
const SOME = 40

const DRIVERS = {
  pg(url: string) {
    const pool = poolOf(url)
    onTestFinished(() => pool.end())
    return pool
  },
  'postgres.js'(url: string) {
    const sql = postgres(url, { max: CALLERS, fetch_types: false })
    onTestFinished(() => sql.end({ timeout: 0 }))
    return sql
  },
}

describePrivatePostgres('a failover behind an address that first leads to another standby', (programs) => {
  const schema = freshSchema()
  let clusters: PrivateClusters
  let address: TcpRelay
  /** The URL of the server that new connections reach. Open connections stay where they are, as with DNS. */
  let target: string
  beforeEach(async () => {
    clusters = await startWithStandbys(programs, { synchronous: true })
    target = clusters.primary.url
    address = await tcpRelay(
      () => new URL(target),
      ({ client, server }) => client.pipe(server).pipe(client),
    )
  })
  afterEach(async () => {
    await address.close()
    await clusters.remove()
  })

  it.each(
    (['pg', 'postgres.js'] as const).flatMap((driver) => [false, true].map((events) => ({ driver, events }))),
  )('loses nothing that was acknowledged, over $driver with events: $events', async ({ driver, events }) => {
    await withStore(clusters.primary.url, (store) => store.migrate(), events)
    const url = new URL(target)
    url.port = String(address.port)
    const load = startLoad(postgresAdapter(DRIVERS[driver](url.href), { schema }))
    const [standby, successor] = [clusters.standbys[1], clusters.standbys[0]]

    await load.untilMore('uploaded', SOME)
    await clusters.primary.kill()
    target = standby.url
    await load.untilMore('refused', SOME)
    await withPool(successor.url, (pool) => pool.query('SELECT pg_promote()'))
    target = successor.url
    await load.untilMore('uploaded', SOME)
    const uploaded = await load.stop()

    await withStore(successor.url, async (store) => {
      const found = await Promise.all(uploaded.map((key) => store.findActive({ bucket: BUCKET, key })))
      expect(found.filter((object) => object === null)).toEqual([])
      expect(await store.checkUsage()).toEqual([])
      const recorded = events ? await recordedKeys(store) : new Set(uploaded)
      expect(uploaded.filter((key) => !recorded.has(key))).toEqual([])
    })
  })

  async function withPool<T>(url: string, use: (pool: ReturnType<typeof poolOf>) => Promise<T>): Promise<T> {
    const pool = poolOf(url, { max: 2 })
    return use(pool).finally(() => pool.end())
  }
  const withStore = <T>(url: string, use: (store: StorageObjectStore) => Promise<T>, events?: boolean) =>
    withPool(url, (pool) => use(postgresAdapter(pool, { schema, events })))
})

/** Lets callers upload, one file after the other, until `stop`, which returns the keys that were acknowledged. */
function startLoad(store: StorageObjectStore) {
  const uploaded: string[] = []
  let refused = 0
  let isStopped = false
  const counts = { uploaded: () => uploaded.length, refused: () => refused }
  const callers = Array.from({ length: CALLERS }, async (_, caller) => {
    for (let file = 0; !isStopped; file++) {
      const key = `${caller}/${file}`
      try {
        const { id } = await store.reserve(attempt(key, `scope ${caller % 3}`))
        await store.confirm({ bucket: BUCKET, key, id, size: 5 })
        uploaded.push(key)
      } catch (error) {
        if ((error as { cause?: { code?: unknown } }).cause?.code === '25006') refused++
        // Other callers go on meanwhile.
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
  })
  return {
    untilMore(name: keyof typeof counts, more: number) {
      const enough = counts[name]() + more
      return until(() => counts[name]() >= enough)
    },
    async stop() {
      isStopped = true
      await Promise.all(callers)
      return uploaded
    },
  }
}

/** Returns the keys of all objects with an event of their upload. */
async function recordedKeys(store: StorageObjectStore): Promise<ReadonlySet<string>> {
  const keys = new Set<string>()
  let after: string | null = null
  do {
    const { items, next }: EventPage = await store.listEvents({ limit: 1000, after })
    for (const { type, object } of items) if (type === 'activated') keys.add(object.key)
    after = next
  } while (after !== null)
  return keys
}
