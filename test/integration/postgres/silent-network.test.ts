import { EventEmitter, once } from 'node:events'
import type pg from 'pg'
import postgres, { type Sql } from 'postgres'
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { tcpRelay, type TcpRelay } from '../drivers/tcp-relay.js'
import { attempt } from './attempt.js'
import { describePostgres, migratedSchema, poolOf } from './schemas.js'

const MINUTE = 60_000

const CALLS: Readonly<Record<string, (store: StorageObjectStore) => Promise<unknown>>> = {
  find: (store) => store.find({ bucket: 'files', key: 'key' }),
  'a batched reserve': (store) => store.reserve(attempt('key')),
  repairUsage: (store) => store.repairUsage('scope'),
  verify: (store) => store.verify(),
  ping: (store) => store.ping(),
}

describePostgres('a network that has forgotten a connection', (url) => {
  const schema = migratedSchema(poolOf(url))
  const swallowed = new EventEmitter()
  let isSilent = false
  let relay: TcpRelay
  let relayed: string
  beforeAll(async () => {
    const { hostname, port } = new URL(url)
    relay = await tcpRelay(
      () => ({ hostname, port }),
      ({ client, server }) => {
        // A forgotten connection stays silent. Those that are opened later work.
        let isForgotten = false
        client.on('data', (chunk) => {
          isForgotten ||= isSilent
          if (isForgotten) swallowed.emit('data')
          else server.write(chunk)
        })
        server.on('data', (chunk) => isForgotten || client.write(chunk))
      },
    )
    const own = new URL(url)
    own.host = `127.0.0.1:${relay.port}`
    relayed = own.href
  })
  afterEach(() => {
    vi.useRealTimers()
    isSilent = false
  })
  afterAll(() => relay.close())

  /** Makes a call on a connection that falls silent, and lets the time pass. */
  async function callInSilence(
    store: StorageObjectStore,
    call: (store: StorageObjectStore) => Promise<unknown>,
    time = MINUTE,
  ) {
    await store.ping()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    isSilent = true
    const isSwallowed = once(swallowed, 'data')
    const result = call(store).then(
      () => 'a response',
      (error: unknown) => error,
    )
    await isSwallowed
    isSilent = false
    vi.advanceTimersByTime(time)
    vi.useRealTimers()
    return result
  }

  /** Expects that a call on a connection of these ends within the time. */
  async function expectFailure(database: pg.Pool | Sql, name: string, time?: number) {
    const store = postgresAdapter(database, { schema })
    const failure = { code: 'DATABASE_UNAVAILABLE', retryable: true }
    expect(await callInSilence(store, CALLS[name]!, time)).toMatchObject(failure)
    return store
  }
  function poolOfOne(more: pg.PoolConfig = {}): pg.Pool {
    const pool = poolOf(relayed, { max: 1, ...more })
    onTestFinished(() => pool.end())
    return pool
  }

  it.each(Object.keys(CALLS))(
    'fails %s on pg within a minute, and the pool replaces the connection',
    async (name) => {
      expect(await (await expectFailure(poolOfOne(), name)).verify()).toEqual([])
    },
  )

  it.each(Object.keys(CALLS))('fails %s on postgres.js within a minute', async (name) => {
    const sql = postgres(relayed, { max: 1 })
    onTestFinished(() => sql.end({ timeout: 0 }))
    await expectFailure(sql, name)
  })

  it('leaves a shorter query_timeout of the application in force', async () => {
    await expectFailure(poolOfOne({ query_timeout: MINUTE / 2 }), 'ping', MINUTE / 2)
  })
})
