import { createAttemptId, type StorageObjectStore } from '@svc/db'
import type { Db } from 'mongodb'
import { afterAll, afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { partsOf } from '../../../src/core/store/store-parts.js'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

describeMongo('the switch of events in MongoDB', (url) => {
  const client = clientOf(url)
  let db: Db
  let store: StorageObjectStore
  beforeEach(async () => {
    db = freshDatabase(client)
    store = mongoAdapter(db, { events: true })
    await store.migrate()
  })
  afterEach(() => db.dropDatabase())
  afterAll(() => client.close())

  async function activate(key: string, by: StorageObjectStore): Promise<void> {
    const at = { bucket: 'bucket', key }
    const expiresAt = new Date(Date.now() + 60_000)
    const { id } = await by.reserve({ scope: 'scope', ...at, declaredSize: 1, expiresAt })
    await by.confirm({ ...at, id, size: 1 })
  }

  const isOn = async () => {
    const reader = mongoAdapter(db, { events: true })
    const before = (await reader.countEvents()).waiting
    await activate(createAttemptId(), reader)
    const isRecorded = (await reader.countEvents()).waiting > before
    expect(await partsOf(reader)!.driver.recordsEvents()).toBe(isRecorded)
    return isRecorded
  }

  it('stays as it is without the option, and is turned off by false', async () => {
    expect(await isOn()).toBe(true)
    await mongoAdapter(db).migrate()
    expect(await isOn()).toBe(true)
    await mongoAdapter(db, { events: false }).migrate()
    expect(await isOn()).toBe(false)
    await mongoAdapter(db).migrate()
    expect(await isOn()).toBe(false)
    expect(await store.claimEvents()).not.toEqual([])
    await store.migrate()
    expect(await isOn()).toBe(true)
  })

  it('is seen by the process that migrates at once, and by others within a minute', async () => {
    const clock = vi.spyOn(performance, 'now')
    onTestFinished(() => clock.mockRestore())
    const started = performance.now()
    clock.mockImplementation(() => started)
    const other = mongoAdapter(db)
    await activate('a', other)
    const off = mongoAdapter(db, { events: false })
    await activate('b', off)
    await off.migrate()
    await activate('c', off)
    await activate('d', other)
    clock.mockImplementation(() => started + 60_001)
    await activate('e', other)
    const { items } = await other.listEvents()
    expect(items.map(({ object }) => object.key)).toEqual(['a', 'b', 'd'])
  })

  it.each([false, undefined])(
    'is on if another process turns it on during migrate() with %s',
    async (events) => {
      await mongoAdapter(db, { events: false }).migrate()
      const other = clientOf(url)
      onTestFinished(() => other.close())
      const open = other.db.bind(other)
      other.db = (...args) => {
        const opened = open(...args)
        const create = opened.createCollection.bind(opened)
        opened.createCollection = async (...args) => {
          await store.migrate()
          return create(...args)
        }
        return opened
      }
      await mongoAdapter(other.db(db.databaseName), { events }).migrate()
      expect(await isOn()).toBe(true)
      await mongoAdapter(db, { events: false }).migrate()
      expect(await isOn()).toBe(false)
    },
  )

  it('needs the collection and its indexes only once it is on', async () => {
    const other = freshDatabase(client)
    onTestFinished(async () => void (await other.dropDatabase()))
    await mongoAdapter(other).migrate()
    const collections = async () => (await other.listCollections().toArray()).map(({ name }) => name)
    expect(await collections()).not.toContain('svc_db_events')
    expect(await mongoAdapter(other).verify()).toEqual([])
    await mongoAdapter(other, { events: true }).migrate()
    expect(await collections()).toContain('svc_db_events')
    await other.collection('svc_db_events').dropIndex('ripe')
    expect(await mongoAdapter(other).verify()).toEqual([
      'Missing: index ripe of svc_db_events. Run migrate().',
    ])
    await mongoAdapter(other).migrate()
    expect(await mongoAdapter(other).verify()).toEqual([])
  })
})
