import { createAttemptId, type StorageObjectStore } from '@svc/db'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import { partsOf } from '../../../src/core/store/store-parts.js'
import type { Database } from '../../../src/adapters/postgres/connection/database.js'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { switchEventsText } from '../../../src/adapters/postgres/migrate/events-switch.js'
import { migrate } from '../../../src/adapters/postgres/migrate/migrate.js'
import { schemaName } from '../../../src/adapters/postgres/sql/schema-name.js'
import { SCHEMA } from '../../../src/adapters/postgres/sql/schema.js'
import { readVersion } from '../../../src/adapters/postgres/migrate/version.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'
import { callsOfVersion15, schemaOfVersion15 } from './version-1-5.js'

const BUCKET = 'bucket'
const SCOPE = 'ann'

describePostgres('the switch of events', (url) => {
  const pool = poolOf(url, { max: 16 })
  let schema: string
  beforeEach(() => {
    schema = freshSchema()
  })
  afterEach(() => dropSchema(pool, schema))
  afterAll(() => pool.end())

  const name = () => schemaName('migrate', schema)
  const database = () => pgDatabase(pool, { named: true })
  const newStore = (events?: boolean) => postgresAdapter(pool, { schema, events })
  const switchedOn = async () => (await readVersion(database(), name())).eventsSwitch
  const old = () => callsOfVersion15(pool, schema)

  it('is off at first, and keeps its position where the option is left out', async () => {
    await newStore().migrate()
    await upload(newStore(true), '1')
    expect(await newStore().countEvents()).toMatchObject({ waiting: 0 })

    await newStore(true).migrate()
    await newStore().migrate()
    // Whatever the option of a process is.
    await upload(newStore(false), '2')
    expect(await newStore().countEvents()).toMatchObject({ waiting: 1 })
    expect(await newStore().verify()).toEqual([])

    await newStore(false).migrate()
    await newStore().migrate()
    await upload(newStore(true), '3')
    expect(await newStore().claimEvents()).toMatchObject([{ object: { key: '2' } }])
    expect(await newStore().verify()).toEqual([])
  })

  it('can be read', async () => {
    const read = () => partsOf(newStore(true))!.driver.recordsEvents()
    await newStore().migrate()
    expect(await read()).toBe(false)
    await newStore(true).migrate()
    expect(await read()).toBe(true)
    await newStore(false).migrate()
    expect(await read()).toBe(false)
  })

  it.each([true, false])('is turned by nobody who finds it at %s, which costs one read', async (events) => {
    await newStore(events).migrate()
    const statements: string[] = []
    const counting: Database = {
      ...database(),
      run(statement, values) {
        statements.push(statement.text)
        return database().run(statement, values)
      },
      script(...texts) {
        statements.push(...texts)
        return database().script(...texts)
      },
    }
    await migrate(counting, name(), SCHEMA, events)
    expect(statements).toEqual([expect.stringContaining('SELECT v.version')])
  })

  it('is on after concurrent migrations, one of which turns it on', async () => {
    for (const from of [0, 1]) {
      if (from === 1) await pool.query(schemaOfVersion15(schema))
      const positions = [undefined, false, true, false, undefined, true, false]
      const pools = positions.map(() => poolOf(url, { max: 1 }))
      await Promise.all(
        pools.map((own, i) => postgresAdapter(own, { schema, events: positions[i] }).migrate()),
      )
      await Promise.all(pools.map((own) => own.end()))
      expect(await switchedOn()).not.toBe(null)
      expect(await newStore().verify()).toEqual([])
      await dropSchema(pool, schema)
    }
  })

  it('stays on if it was turned on while another process was about to turn it off', async () => {
    await newStore(true).migrate()
    const found = await switchedOn()
    await newStore(false).migrate()
    await newStore(true).migrate()
    await database().script(switchEventsText(false, name(), { found, milliseconds: null }))
    expect(await switchedOn()).not.toBe(null)
    await database().script(
      switchEventsText(false, name(), { found: await switchedOn(), milliseconds: null }),
    )
    expect(await switchedOn()).toBe(null)
  })

  it('fails no write and leaves no change after it unrecorded', async () => {
    await newStore(false).migrate()
    let areWriting = true
    const confirmed: string[] = []
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let round = 0; areWriting; round++) {
        const key = `${writer}/${round}`
        if (writer % 2 === 0) await old().confirm(await old().reserve({ scope: `${writer}`, key }))
        else await upload(newStore(), key, `${writer}`)
        confirmed.push(key)
      }
    })
    const untilWritten = (more: number) => {
      const wanted = confirmed.length + more
      return expect.poll(() => confirmed.length).toBeGreaterThan(wanted)
    }
    for (let turn = 0; turn < 4; turn++) {
      await untilWritten(20)
      await newStore(true).migrate()
      const before = confirmed.length
      await untilWritten(20)
      const after = confirmed.slice(before + 8)
      const events = await newStore().claimEvents({ limit: 1000 })
      expect(events.map(({ object }) => object.key)).toEqual(expect.arrayContaining(after.slice(0, 10)))
      await newStore(false).migrate()
    }
    areWriting = false
    await Promise.all(writers)
    expect(await newStore().checkUsage()).toEqual([])
  })

  it.each([true, false])('lets others pass while migrate() waits to turn it to %s', async (events) => {
    await newStore(!events).migrate()
    const writer = await pool.connect()
    try {
      await writer.query('BEGIN')
      await upload(postgresAdapter(writer, { schema }), 'long')
      const migration = newStore(events).migrate()
      await untilLockIsAwaited()
      // Without a limit of its wait, the migration would hold these up until the writer ends.
      await upload(newStore(), '1', 'bob')
      expect(await newStore().findActive({ bucket: BUCKET, key: '1' })).not.toBe(null)
      await writer.query('COMMIT')
      await migration
      expect((await switchedOn()) !== null).toBe(events)
    } finally {
      writer.release(true)
    }
  })

  async function untilLockIsAwaited(): Promise<void> {
    const waiting = `SELECT FROM pg_locks
      WHERE relation = format('%I.objects', $1::text)::regclass AND mode <> 'RowExclusiveLock' AND NOT granted`
    await expect.poll(async () => (await pool.query(waiting, [schema])).rowCount).toBe(1)
  }

  it.each([
    ['DROP TRIGGER record_delete ON {table}', 'Missing: trigger record_delete.'],
    ['ALTER TABLE {table} DISABLE TRIGGER record_update', 'trigger record_update must be'],
    ['ALTER TABLE {table} ENABLE ALWAYS TRIGGER record_insert', 'trigger record_insert must be'],
  ])('is checked by verify(): %s', async (damage, finding) => {
    await newStore(true).migrate()
    await pool.query(damage.replace('{table}', `${quoted(schema)}.objects`))
    expect(await newStore().verify()).toEqual([expect.stringContaining(finding)])
  })

  it('is part of postgresSchema()', async () => {
    for (const [events, expected] of [
      [true, true],
      [undefined, true],
      [false, false],
      [undefined, false],
    ] as const) {
      await pool.query(postgresSchema({ schema, events }))
      expect((await switchedOn()) !== null).toBe(expected)
    }
  })

  it('refuses a value that is not a boolean', () => {
    const events = 'yes' as unknown as boolean
    expect(() => postgresAdapter(pool, { events })).toThrow(
      new TypeError('postgresAdapter: events must be true or false (got "yes").'),
    )
    expect(() => postgresSchema({ events })).toThrow(TypeError)
  })

  it('works over a client in a transaction', async () => {
    await newStore().migrate()
    const client = new pg.Client(url)
    await client.connect()
    await client.query('BEGIN')
    await expectEvents(postgresAdapter(client, { schema, events: true }))
    await client.query('ROLLBACK')
    await client.end()
    expect(await switchedOn()).toBe(null)
  })

  it('needs grants on the table of events for other roles', async () => {
    const role = `worker_${createAttemptId().slice(-12)}`
    await pool.query(`CREATE ROLE ${role} LOGIN`)
    const roleUrl = new URL(url)
    roleUrl.username = role
    roleUrl.password = ''
    const workers = poolOf(roleUrl.href, { max: 2 })
    try {
      await newStore().migrate()
      const tables = ['objects', 'scope_usage', 'leftovers'].map((table) => `${quoted(schema)}.${table}`)
      await pool.query(`GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${role}`)
      await pool.query(`GRANT SELECT ON ${quoted(schema)}.schema_version TO ${role}`)
      await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${tables.join(', ')} TO ${role}`)
      const store = postgresAdapter(workers, { schema })
      await upload(store, '1')
      await newStore(true).migrate()
      await expect(upload(store, '2')).rejects.toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        retryable: false,
      })
      await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${quoted(schema)}.events TO ${role}`)
      await expectEvents(store)
    } finally {
      await workers.end()
      await dropSchema(pool, schema)
      await pool.query(`DROP ROLE ${role}`)
    }
  })

  /** Delivers the events of one object through the store. */
  async function expectEvents(store: StorageObjectStore): Promise<void> {
    await store.migrate()
    expect(await store.verify()).toEqual([])
    const row = await upload(store, 'delivered')
    expect((await store.listEvents()).items).toMatchObject([{ object: { metadata: { a: '\ufeff"ü\n' } } }])
    const [event] = await store.claimEvents()
    expect(event).toMatchObject({ type: 'activated', object: row, previous: null, attempts: 1 })
    expect(await store.extendClaims([event!])).toEqual([event!.id])
    expect(await store.settleEvents([{ ...event!, retryAt: new Date() }])).toEqual([event!.id])
    const [again] = await store.claimEvents({ bucket: BUCKET, key: 'delivered' })
    expect(again).toMatchObject({ id: event!.id, attempts: 2 })
    expect(await store.settleEvents([again!])).toEqual([event!.id])
    expect(await store.countEvents()).toEqual({ waiting: 0, claimed: 0, retrying: 0 })
  }
})

async function upload(store: StorageObjectStore, key: string, scope = SCOPE) {
  const id = createAttemptId()
  const at = { bucket: BUCKET, key }
  const expiresAt = new Date(Date.now() + 60_000)
  await store.reserve({ id, scope, ...at, declaredSize: 1, expiresAt, metadata: { a: '\ufeff"ü\n' } })
  return store.confirm({ ...at, id, scope, size: 1 })
}
