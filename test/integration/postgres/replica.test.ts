import {
  createS3Server,
  db,
  eraseScope,
  memoryStorage,
  StorageError,
  transferScope,
  type StorageObjectStore,
} from '@svc/db'
import type pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { startWithStandbys, type PrivateClusters } from '../../servers/private-cluster.js'
import { SCHEMA } from '../../../src/adapters/postgres/sql/schema.js'
import { everyCall } from './every-call.js'
import { describePrivatePostgres, freshSchema, poolOf } from './schemas.js'
import { tcpRelay, type TcpRelay } from '../drivers/tcp-relay.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const BUCKET = 'bucket'
const now = () => new Date()
const isServedByReplica = (name: string) => /^(listByScope|countByScope)\b/.test(name)

describePrivatePostgres('a streaming replica', (programs) => {
  const schema = freshSchema()
  const at = (key: string) => ({ bucket: BUCKET, key })
  const attempt = (scope: string, key: string) => ({
    scope,
    ...at(key),
    declaredSize: 5,
    expiresAt: new Date(Date.now() + 60_000),
  })
  let clusters: PrivateClusters
  let proxies: { primary: WireProxy; standby: WireProxy }
  let pools: { primary: pg.Pool; standby: pg.Pool }
  let store: StorageObjectStore

  beforeAll(async () => {
    clusters = await startWithStandbys(programs)
    proxies = {
      primary: await wireProxy(clusters.primary.url),
      standby: await wireProxy(clusters.standbys[0].url),
    }
    pools = { primary: poolOf(proxies.primary.url), standby: poolOf(proxies.standby.url) }
    store = postgresAdapter(pools.primary, { schema, readPool: pools.standby })
    await store.migrate()
    await untilReplayed()
  })
  afterAll(async () => {
    await Promise.all(Object.values(pools).map((pool) => pool.end()))
    await Promise.all(Object.values(proxies).map((proxy) => proxy.close()))
    await clusters.remove()
  })

  async function valueOf(pool: pg.Pool, expression: string): Promise<string> {
    const { rows } = await pool.query<{ value: string }>(`SELECT (${expression})::text AS value`)
    return rows[0]!.value
  }

  /** Waits until the condition is true on the standby. */
  async function untilOnStandby(condition: string, standby = pools.standby): Promise<void> {
    while ((await valueOf(standby, condition)) !== 'true') {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  /** Waits until the standby has replayed everything that the primary has written so far. */
  async function untilReplayed(standby = pools.standby): Promise<void> {
    const position = await valueOf(pools.primary, 'pg_current_wal_insert_lsn()')
    await untilOnStandby(`pg_last_wal_replay_lsn() >= '${position}'::pg_lsn`, standby)
  }

  for (const { name, prepare, call } of everyCall('each call', now)) {
    it(`${name} queries only the ${isServedByReplica(name) ? 'replica' : 'primary'}, once`, async () => {
      await prepare?.(store)
      proxies.primary.roundTrips = 0
      proxies.standby.roundTrips = 0
      await call(store)
      const { primary, standby } = proxies
      const expected = isServedByReplica(name) ? [0, 1] : [1, 0]
      expect([primary.roundTrips, standby.roundTrips]).toEqual(expected)
    })
  }

  it.each([
    ['checkUsage', () => store.checkUsage()],
    ['repairUsage', () => store.repairUsage()],
    ['migrate', () => store.migrate()],
    ['verify', () => store.verify()],
  ])('%s queries only the primary', async (_, call) => {
    proxies.primary.roundTrips = 0
    proxies.standby.roundTrips = 0
    await call()
    expect(proxies.primary.roundTrips).toBeGreaterThan(0)
    expect(proxies.standby.roundTrips).toBe(0)
  })

  it('delays only listings and counts while it lags', async () => {
    const scope = 'lag'
    const before = await store.reserve(attempt(scope, 'before'))
    await untilReplayed()
    await pools.standby.query('SELECT pg_wal_replay_pause()')
    await untilOnStandby("pg_get_wal_replay_pause_state() = 'paused'")
    try {
      const row = await store.reserve(attempt(scope, 'meanwhile'))
      expect(await store.findPending(row)).toEqual(row)
      expect(await store.getScopeUsage(scope)).toMatchObject({ reservedBytes: 10, reservedFiles: 2 })
      const over = store.reserve({ ...attempt(scope, 'over'), quota: { maxFiles: 2 } })
      await expect(over).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      const active = await store.confirm({ ...at('meanwhile'), id: row.id, size: 7 })
      expect(await store.find(row)).toEqual(active)

      expect(await store.listByScope({ scope })).toEqual({ objects: [before] })
      expect([await store.countByScope(scope), await store.countByScope(scope, 'active')]).toEqual([1, 0])
      await pools.standby.query('SELECT pg_wal_replay_resume()')
      await untilReplayed()
      expect(await store.listByScope({ scope })).toEqual({ objects: [active, before] })
      expect([await store.countByScope(scope), await store.countByScope(scope, 'active')]).toEqual([2, 1])
    } finally {
      await pools.standby.query('SELECT pg_wal_replay_resume()')
    }
  })

  it('leaves lists and counts to the primary until it has received the migration', async () => {
    const lagging = postgresAdapter(pools.primary, { schema: freshSchema(), readPool: pools.standby })
    await pools.standby.query('SELECT pg_wal_replay_pause()')
    await untilOnStandby("pg_get_wal_replay_pause_state() = 'paused'")
    try {
      await lagging.migrate()
      const row = await lagging.reserve(attempt('new', 'new'))
      expect(await lagging.listByScope({ scope: 'new' })).toEqual({ objects: [row] })
      expect(await lagging.countByScope('new')).toBe(1)
    } finally {
      await pools.standby.query('SELECT pg_wal_replay_resume()')
    }
  })

  it('delays no list from the primary, and neither transferScope nor eraseScope', async () => {
    const s3 = createS3Server({
      storage: memoryStorage(),
      bucket: BUCKET,
      plugins: [db({ client: store, resolveScope: () => null })],
    })
    const [scope, to] = ['leaves', 'stays']
    await pools.standby.query('SELECT pg_wal_replay_pause()')
    await untilOnStandby("pg_get_wal_replay_pause_state() = 'paused'")
    try {
      const row = await store.reserve(attempt(scope, 'to transfer'))
      const active = await store.confirm({ ...at('to transfer'), id: row.id, size: 5 })
      expect(await store.listByScope({ scope })).toEqual({ objects: [] })
      expect(await store.listByScope({ scope, fromPrimary: true })).toEqual({ objects: [active] })
      expect(await transferScope(s3, { from: scope, to })).toEqual({ transferred: 1, failed: [] })

      await store.reserve(attempt(to, 'to end'))
      expect(await eraseScope(s3, { scope: to })).toMatchObject({ objects: 1, reservations: 1, failed: [] })
      expect(await store.listByScope({ scope: to, fromPrimary: true })).toEqual({ objects: [] })
    } finally {
      await pools.standby.query('SELECT pg_wal_replay_resume()')
    }
  })

  it('serves consistent pages while it catches up between them', async () => {
    const scope = 'pages'
    const rows = []
    for (let i = 0; i < 6; i++) rows.push(await store.reserve(attempt(scope, `page ${i}`)))
    await untilReplayed()
    const first = await store.listByScope({ scope, limit: 3 })
    await store.reserve(attempt(scope, 'later page'))
    await store.remove({ ...at('page 5'), scope, mode: 'hard' })
    await untilReplayed()
    const second = await store.listByScope({ scope, limit: 3, cursor: first.nextCursor })
    expect([...first.objects, ...second.objects]).toEqual(rows.reverse())
    expect(second.nextCursor).toBeUndefined()
  })

  describe('next to another one, behind a balancer', () => {
    const LISTS = 40
    let other: pg.Pool
    let otherProxy: WireProxy
    let balancer: TcpRelay
    let readPool: pg.Pool
    let balanced: StorageObjectStore

    beforeAll(async () => {
      other = poolOf(clusters.standbys[1].url)
      otherProxy = await wireProxy(clusters.standbys[1].url)
      const targets = [proxies.standby.url, otherProxy.url].map((url) => new URL(url))
      let connections = 0
      balancer = await tcpRelay(
        () => targets[connections++ % 2]!,
        ({ client, server }) => client.pipe(server).pipe(client),
      )
      const url = new URL(targets[0]!)
      url.port = String(balancer.port)
      readPool = poolOf(url.href, { max: 2 })
      balanced = postgresAdapter(pools.primary, { schema, readPool })
    })
    afterAll(async () => {
      await Promise.all([readPool, other].map((pool) => pool.end()))
      await balancer.close()
      await otherProxy.close()
    })

    /** Lists over both connections and returns how many objects each list has, and who served how many. */
    async function countedLists(scope: string) {
      for (const proxy of [proxies.primary, proxies.standby, otherProxy]) proxy.roundTrips = 0
      const lists = await Promise.all(Array.from({ length: LISTS }, () => balanced.listByScope({ scope })))
      const served = [proxies.primary, proxies.standby, otherProxy].map(({ roundTrips }) => roundTrips)
      return { lengths: lists.map(({ objects }) => objects.length), served }
    }

    it('delays exactly the lists that the lagging one serves, and no decision', async () => {
      const scope = 'two lags'
      await balanced.reserve(attempt(scope, 'lag 1'))
      await untilReplayed()
      await untilReplayed(other)
      await other.query('SELECT pg_wal_replay_pause()')
      await untilOnStandby("pg_get_wal_replay_pause_state() = 'paused'", other)
      try {
        await balanced.reserve(attempt(scope, 'lag 2'))
        await untilReplayed()
        const { lengths, served } = await countedLists(scope)
        const [primary, current, lagging] = served
        expect(primary).toBe(0)
        expect(lagging).toBeGreaterThan(0)
        expect(lengths.filter((length) => length === 2)).toHaveLength(current!)
        expect(lengths.filter((length) => length === 1)).toHaveLength(lagging!)

        const quota = { maxFiles: 2 }
        const results = Array.from({ length: LISTS }, (_, index) =>
          balanced
            .reserve({ ...attempt(scope, `over ${index}`), quota })
            .catch((reason: unknown) => (reason as StorageError).code),
        )
        expect(new Set(await Promise.all(results))).toEqual(new Set(['QUOTA_EXCEEDED']))
      } finally {
        await other.query('SELECT pg_wal_replay_resume()')
      }
      await untilReplayed(other)
      expect((await countedLists(scope)).lengths).toEqual(Array.from({ length: LISTS }, () => 2))
    })
  })

  it('as pool refuses writes, serves reads that lag, and is found by verify', async () => {
    const onStandby = postgresAdapter(pools.standby, { schema })
    const row = await store.reserve(attempt('writes', 'existing'))
    await untilReplayed()
    expect(await onStandby.find(row)).toEqual(row)
    expect(await onStandby.migrate()).toEqual({ from: SCHEMA.version, to: SCHEMA.version })
    const plugins = [db({ client: onStandby, resolveScope: () => null })]
    const s3 = createS3Server({ storage: memoryStorage(), bucket: BUCKET, plugins })
    const message = expect.stringContaining('The server is a standby.') as string
    expect(await s3.verify()).toEqual([{ part: 'database', message }])
    expect(await onStandby.checkUsage()).toEqual([])

    // failures.test.ts has each write of a read-only database.
    for (const write of [
      () => onStandby.reserve(attempt('writes', 'new')),
      () => onStandby.remove(at('missing')),
      () => postgresAdapter(pools.standby, { schema: freshSchema() }).migrate(),
    ]) {
      const error: unknown = await write().catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(StorageError)
      expect(error).toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        message: expect.stringContaining('read-only') as string,
      })
    }
    expect(await store.find(row)).toEqual(row)

    await pools.standby.query('SELECT pg_wal_replay_pause()')
    await untilOnStandby("pg_get_wal_replay_pause_state() = 'paused'")
    try {
      await store.release({ ...at('existing'), id: row.id })
      expect(await onStandby.findPending(row)).toEqual(row)
    } finally {
      await pools.standby.query('SELECT pg_wal_replay_resume()')
    }
  })

  it('keeps no connection of postgres.js that refused a write, so that writes follow the address to the primary', async () => {
    let target = clusters.standbys[0].url
    const address = await tcpRelay(
      () => new URL(target),
      ({ client, server }) => client.pipe(server).pipe(client),
    )
    onTestFinished(() => address.close())
    const url = new URL(target)
    url.port = String(address.port)
    const sql = postgres(url.href, { max: 4, connection: { application_name: 'moved' } })
    onTestFinished(() => sql.end({ timeout: 0 }))
    const moved = postgresAdapter(sql, { schema })
    const onStandby = () =>
      valueOf(pools.standby, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'moved'`)
    const write = (key: string) => moved.reserve(attempt('moved', key))

    await Promise.all(Array.from({ length: 4 }, () => moved.ping()))
    expect(await onStandby()).toBe('4')
    target = clusters.primary.url
    await expect(write('refused')).rejects.toMatchObject({ cause: { code: '25006' } })

    await expect.poll(onStandby).toBe('0')
    const rows = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(write))
    expect(await store.find(rows[4]!)).toEqual(rows[4])
  })
})
