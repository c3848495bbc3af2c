import { EventEmitter, once } from 'node:events'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { tcpRelay, type TcpRelay } from '../drivers/tcp-relay.js'
import { attempt } from './attempt.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from './schemas.js'

const MINUTE = 60_000

const CALLS: Readonly<Record<string, (store: StorageObjectStore) => Promise<unknown>>> = {
  find: (store) => store.find({ bucket: 'files', key: 'key' }),
  'a batched reserve': (store) => store.reserve(attempt('key')),
  repairUsage: (store) => store.repairUsage('scope'),
  verify: (store) => store.verify(),
  ping: (store) => store.ping(),
}

describePostgres('a network that has forgotten a connection', (url) => {
  const schema = freshSchema()
  const direct = poolOf(url)
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
    await postgresAdapter(direct, { schema }).migrate()
  })
  afterEach(() => {
    vi.useRealTimers()
    isSilent = false
  })
  afterAll(async () => {
    await relay.close()
    await dropSchema(direct, schema)
    await direct.end()
  })

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

  it.each(Object.keys(CALLS))(
    'fails %s on pg within a minute, and the pool replaces the connection',
    async (name) => {
      const pool = poolOf(relayed, { max: 1 })
      try {
        const store = postgresAdapter(pool, { schema })
        expect(await callInSilence(store, CALLS[name]!)).toMatchObject({
          code: 'DATABASE_UNAVAILABLE',
          retryable: true,
        })
        expect(await store.verify()).toEqual([])
      } finally {
        await pool.end()
      }
    },
  )

  it.each(Object.keys(CALLS))('fails %s on postgres.js within a minute', async (name) => {
    const sql = postgres(relayed, { max: 1 })
    try {
      const store = postgresAdapter(sql, { schema })
      expect(await callInSilence(store, CALLS[name]!)).toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        retryable: true,
      })
    } finally {
      await sql.end({ timeout: 0 })
    }
  })

  it('leaves a shorter query_timeout of the application in force', async () => {
    const pool = poolOf(relayed, { max: 1, query_timeout: MINUTE / 2 })
    try {
      const store = postgresAdapter(pool, { schema })
      expect(await callInSilence(store, CALLS['ping']!, MINUTE / 2)).toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
      })
    } finally {
      await pool.end()
    }
  })
})
