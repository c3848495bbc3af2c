import { expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { attempt, BUCKET, errorOf } from './attempt.js'
import { everyCall } from './every-call.js'
import { describePostgresJs } from './postgres-js.js'
import { freshSchema } from './schemas.js'

const now = () => new Date()

describePostgresJs('postgresAdapter over postgres.js fails as with pg', (server) => {
  const { url, schema, pool, open, storeOf } = server

  it('throws DATABASE_UNAVAILABLE with the cause if there is no server', async () => {
    const nowhere = new URL(url)
    nowhere.port = '1'
    const store = storeOf(open({}, nowhere.href))
    for (const call of [() => store.ping(), () => store.migrate(), () => store.reserve(attempt('k'))]) {
      const error = await errorOf(call())
      expect(error.code).toBe('DATABASE_UNAVAILABLE')
      expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
    }
  })

  it('names migrate() on a schema that was never migrated', async () => {
    const store = postgresAdapter(open(), { schema: freshSchema() })
    for (const { name, call } of everyCall('scope', now)) {
      if (name === 'ping' || name.endsWith('refused')) continue
      const error = await errorOf(call(store))
      expect(error.code, name).toBe('DATABASE_UNAVAILABLE')
      expect(error.message, name).toContain('migrate()')
    }
  })

  it('refuses an id that is already used', async () => {
    const store = storeOf(open())
    const { id } = await store.reserve(attempt('first of an id'))
    expect((await errorOf(store.reserve({ ...attempt('second of an id'), id }))).params).toMatchObject({
      field: 'id',
    })
  })

  it('repeats a reserve whose response was lost, and reserves once', async () => {
    const store = storeOf(open({}, server.proxy.url))
    await store.ping()
    server.proxy.dropNextResponse()
    const row = await store.reserve(attempt('lost reserve', 'lost by postgres.js'))
    expect(await store.findPending(row)).toEqual(row)
    expect(await store.countByScope('lost by postgres.js')).toBe(1)
  })

  it('throws if the response to a call that must not be repeated was lost', async () => {
    const store = storeOf(open({ max: 1 }, server.proxy.url))
    for (const [key, round] of [
      ['lost remove 1', 1],
      ['lost remove 2', 2],
    ] as const) {
      await store.reserve(attempt(key))
      // From the second call on the statement is prepared, and its next response is the last.
      if (round === 2) await store.remove({ bucket: BUCKET, key: 'nothing' })
      server.proxy.dropNextResponse()
      const error = await errorOf(store.remove({ bucket: BUCKET, key }))
      expect(error.code).toBe('DATABASE_UNAVAILABLE')
      expect(error.cause).toBeInstanceOf(Error)
    }
    expect(await store.find({ bucket: BUCKET, key: 'lost remove 2' })).toBeNull()
    expect(await store.checkUsage()).toEqual([])
  })

  it('survives connections that broke while idle', async () => {
    const store = storeOf(open({}, server.proxy.url))
    await Promise.all(Array.from({ length: 8 }, () => store.ping()))
    server.proxy.cut()
    await Promise.all(Array.from({ length: 8 }, (_, i) => store.reserve(attempt(`idle ${i}`))))
  })

  it.each([{ statement_timeout: 100 }, { lock_timeout: 100 }])(
    'throws DATABASE_UNAVAILABLE after %o',
    async (connection) => {
      const store = storeOf(open({ connection }))
      const holder = await pool.connect()
      try {
        await holder.query('BEGIN')
        await postgresAdapter(holder, { schema }).reserve(attempt('held'))
        expect((await errorOf(store.reserve(attempt('held')))).code).toBe('DATABASE_UNAVAILABLE')
      } finally {
        await holder.query('ROLLBACK')
        holder.release()
      }
      await postgresAdapter(pool, { schema }).reserve(attempt('held'))
    },
  )

  it('throws DATABASE_UNAVAILABLE on a read-only database and with another isolation level', async () => {
    const readOnly = storeOf(open({ connection: { default_transaction_read_only: true } }))
    expect((await errorOf(readOnly.reserve(attempt('read-only')))).message).toContain('read-only')
    const isolated = storeOf(open({ connection: { default_transaction_isolation: 'repeatable read' } }))
    expect((await errorOf(isolated.reserve(attempt('isolated')))).message).toContain('READ COMMITTED')
  })

  it('throws DATABASE_UNAVAILABLE after the instance was ended', async () => {
    const sql = open()
    await sql.end()
    expect((await errorOf(storeOf(sql).ping())).cause).toMatchObject({ code: 'CONNECTION_ENDED' })
  })

  it('prepares statements again after they were removed from the connection', async () => {
    const sql = open({ max: 1 })
    const store = storeOf(sql)
    await store.reserve(attempt('deallocated'))
    await sql`DEALLOCATE ALL`
    expect(await store.reserve(attempt('deallocated'))).toMatchObject({ key: 'deallocated' })
  })
})
