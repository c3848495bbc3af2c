import { createAttemptId, type StorageObjectStore } from '@svc/db'
import { expect, it } from 'vitest'
import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import { partsOf } from '../../../src/core/store/store-parts.js'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { switchEventsText } from '../../../src/adapters/postgres/migrate/events-switch.js'
import { schemaName } from '../../../src/adapters/postgres/sql/statement.js'
import { readVersion } from '../../../src/adapters/postgres/migrate/version.js'
import { attempt } from './attempt.js'
import { describePostgres, inTransaction, poolOf, quoted, schemaOfEachTest, untilAwaited } from './schemas.js'

async function upload(store: StorageObjectStore, key: string, scope = 'ann') {
  const { bucket, id } = await store.reserve({ ...attempt(key, scope), id: createAttemptId() })
  return store.confirm({ bucket, key, id, scope, size: 1 })
}

describePostgres('the switch of events', (url) => {
  const pool = poolOf(url, { max: 16 })
  let schema: string
  schemaOfEachTest(pool, (name) => (schema = name))

  const name = () => schemaName('migrate', schema)
  const database = () => pgDatabase(pool, { named: true })
  const newStore = (events?: boolean) => postgresAdapter(pool, { schema, events })
  const isRecorded = () => partsOf(newStore())!.driver.recordsEvents()
  const switchedOn = async () => (await readVersion(database(), name())).eventsSwitch

  it('is off at first, and keeps its position where the option is left out', async () => {
    await newStore().migrate()
    await upload(newStore(true), '1')
    expect(await newStore().countEvents()).toMatchObject({ waiting: 0 })
    expect(await isRecorded()).toBe(false)

    await newStore(true).migrate()
    await newStore().migrate()
    // Whatever the option of a process is.
    await upload(newStore(false), '2')
    expect(await newStore().countEvents()).toMatchObject({ waiting: 1 })
    expect(await isRecorded()).toBe(true)
    expect(await newStore().verify()).toEqual([])

    await newStore(false).migrate()
    await newStore().migrate()
    await upload(newStore(true), '3')
    expect(await newStore().claimEvents()).toMatchObject([{ object: { key: '2' } }])
    expect(await isRecorded()).toBe(false)
    expect(await newStore().verify()).toEqual([])
  })

  it('is on after concurrent migrations, some of which turn it on', async () => {
    const positions = [undefined, true, undefined, undefined, true]
    const pools = positions.map(() => poolOf(url, { max: 1 }))
    await Promise.all(pools.map((own, i) => postgresAdapter(own, { schema, events: positions[i] }).migrate()))
    await Promise.all(pools.map((own) => own.end()))
    expect(await switchedOn()).not.toBe(null)
    expect(await newStore().verify()).toEqual([])
  })

  it('stays on if it was turned on while another process was about to turn it off', async () => {
    await newStore(true).migrate()
    const found = await switchedOn()
    await newStore(false).migrate()
    await newStore(true).migrate()
    await database().script(switchEventsText(false, name(), { found, isPatient: true }))
    expect(await switchedOn()).not.toBe(null)
    await database().script(switchEventsText(false, name(), { found: await switchedOn(), isPatient: true }))
    expect(await switchedOn()).toBe(null)
  })

  it('fails no write and leaves no change after it unrecorded', async () => {
    await newStore(false).migrate()
    let areWriting = true
    const confirmed: string[] = []
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let round = 0; areWriting; round++) {
        const key = `${writer}/${round}`
        await upload(newStore(), key, `${writer}`)
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
    let migration: Promise<unknown> | undefined
    await inTransaction(pool, async (writer) => {
      await upload(postgresAdapter(writer, { schema }), 'long')
      migration = newStore(events).migrate()
      await untilAwaited(pool, schema, 'objects')
      // Without a limit of its wait, the migration would hold these up until the writer ends.
      await upload(newStore(), '1', 'bob')
      expect(await newStore().findActive({ bucket: 'bucket', key: '1' })).not.toBe(null)
    })
    await migration
    expect((await switchedOn()) !== null).toBe(events)
  })

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

  it('is undone with the transaction of a client that turned it on', async () => {
    await newStore().migrate()
    await inTransaction(pool, async (client) => {
      const undone = postgresAdapter(client, { schema, events: true })
      await undone.migrate()
      await upload(undone, '1')
      expect(await undone.claimEvents()).toHaveLength(1)
    })
    expect(await switchedOn()).toBe(null)
  })
})
