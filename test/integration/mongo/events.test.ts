import type { StorageObjectStore, StoredEvent } from '@svc/db'
import type { Db } from 'mongodb'
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openNamespace } from '../../../src/adapters/mongo/connection/namespace.js'
import { createMongoDriver } from '../../../src/adapters/mongo/driver.js'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { createStore } from '../../../src/core/store/create-store.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'
import { watchedClient } from './watched-client.js'
import { wireProxy } from './wire-proxy.js'

interface Reference {
  readonly bucket: string
  readonly key: string
}

const at = (key: string): Reference => ({ bucket: 'bucket', key })

describeMongo('events in MongoDB', (url) => {
  const watched = watchedClient(url)
  const { client } = watched
  const take = () => watched.take()
  const names = () => take().map(({ name }) => name)
  let db: Db
  let store: StorageObjectStore
  beforeEach(async () => {
    db = freshDatabase(client)
    store = mongoAdapter(db, { events: true })
    await store.migrate()
    await store.ping()
    await store.getScopeUsage('scope')
  })
  afterEach(() => db.dropDatabase())
  afterAll(() => client.close())

  const reserve = (key: string, by = store) =>
    by.reserve({
      ...{ scope: 'scope', ...at(key), declaredSize: 1, expiresAt: new Date(Date.now() + 60_000) },
      overwrite: true,
    })
  async function activate(key: string, by = store): Promise<string> {
    const { id } = await reserve(key, by)
    await by.confirm({ ...at(key), id, size: 1 })
    return id
  }
  const claimsOf = (events: readonly StoredEvent[]) => events.map(({ id, claim }) => ({ id, claim }))
  const keysOf = (events: readonly StoredEvent[]) => events.map(({ object }) => object.key)
  const documents = () => db.collection('svc_db_events').countDocuments()

  describe('commands:', () => {
    it('confirm and remove take one more each', async () => {
      const { id } = await reserve('a')
      take()
      await store.confirm({ ...at('a'), id, size: 1, scope: 'scope' })
      expect(names()).toEqual(['find', 'update', 'update', 'commitTransaction'])
      await store.remove({ ...at('a'), scope: 'scope', mode: 'hard' })
      expect(names()).toEqual(['findAndModify', 'update', 'update', 'commitTransaction'])
      expect((await store.listEvents()).items).toMatchObject([{ type: 'activated' }, { type: 'deleted' }])
    })

    it('a transaction of many writes takes one more in all', async () => {
      const keys = Array.from({ length: 65 }, (_, i) => `key ${i}`)
      const rows = await Promise.all(keys.map((key) => reserve(key)))
      await store.ping()
      take()
      await Promise.all(rows.map(({ key, id }) => store.confirm({ ...at(key), id, size: 1, scope: 'scope' })))
      expect(names()).toEqual([
        ...['find', 'update', 'update', 'commitTransaction'],
        ...['find', 'update', 'delete', 'insert', 'update', 'commitTransaction'],
      ])
      expect(await store.countEvents()).toEqual({ waiting: 65, claimed: 0, retrying: 0 })
    })

    it('a write that records nothing takes none more', async () => {
      const { id } = await reserve('a')
      await store.confirm({ ...at('a'), id, size: 1 })
      take()
      await reserve('b')
      await store.confirm({ ...at('a'), id, size: 1, scope: 'scope' })
      expect(names()).toEqual(['update', 'commitTransaction', 'find', 'commitTransaction'])
    })

    it('claiming and settling 30 events of 30 objects takes 4', async () => {
      await Promise.all(Array.from({ length: 30 }, (_, i) => activate(`key ${i}`)))
      take()
      const events = await store.claimEvents({ limit: 30 })
      expect(new Set(keysOf(events)).size).toBe(30)
      expect(names()).toEqual(['aggregate', 'update'])
      expect(await store.settleEvents(claimsOf(events))).toEqual(events.map(({ id }) => id))
      expect(names()).toEqual(['delete', 'commitTransaction'])
      expect(await documents()).toBe(0)
    })

    it('extending, listing, counting and claiming of nothing take 1', async () => {
      await Promise.all(['a', 'b'].map((key) => activate(key)))
      const events = await store.claimEvents()
      take()
      expect(await store.extendClaims(claimsOf(events))).toEqual(events.map(({ id }) => id))
      expect(names()).toEqual(['update'])
      await store.listEvents()
      await store.countEvents()
      expect(await store.claimEvents()).toEqual([])
      expect(names()).toEqual(['aggregate', 'aggregate', 'aggregate'])
    })
  })

  it('an event recorded while the last one is settled is neither lost nor held back', async () => {
    for (let round = 0; round < 30; round++) {
      const key = `key ${round}`
      await activate(key)
      const [event] = await store.claimEvents(at(key))
      const [settled] = await Promise.all([
        store.settleEvents(claimsOf([event!])),
        store.remove({ ...at(key), mode: 'hard' }),
      ])
      expect(settled).toEqual([event!.id])
      const [next] = await store.claimEvents(at(key))
      expect(next).toMatchObject({ type: 'deleted', attempts: 1 })
      expect(await store.settleEvents(claimsOf([next!]))).toEqual([next!.id])
    }
    expect(await documents()).toBe(0)
  })

  describe('a claim between whose commands another process', () => {
    /** A store whose first claim waits for the interruption before it writes. */
    function interrupted(interruption: () => Promise<unknown>, now?: () => Date): StorageObjectStore {
      const other = clientOf(url)
      onTestFinished(() => other.close())
      const open = other.db.bind(other)
      let isOver = false
      other.db = (...args) => {
        const opened = open(...args)
        const send = opened.command.bind(opened)
        opened.command = async (command, ...args) => {
          if ('update' in command && command['update'] === 'svc_db_events' && !isOver) {
            isOver = true
            await interruption()
          }
          return send(command, ...args)
        }
        return opened
      }
      return mongoAdapter(other.db(db.databaseName), { now })
    }
    const inMinutes = (minutes: number) => () => new Date(Date.now() + minutes * 60_000)
    const settleNext = async () => {
      const [event] = await store.claimEvents()
      await store.settleEvents(claimsOf([event!]))
    }

    it('settles the event gets the next one', async () => {
      await activate('a')
      const next = await activate('a')
      const claimed = await interrupted(settleNext, inMinutes(0.5)).claimEvents()
      expect(claimed).toMatchObject([{ object: { attemptId: next }, attempts: 1 }])
    })

    it('settles the only event gets one that was recorded after it', async () => {
      await activate('a')
      const claiming = interrupted(async () => {
        await settleNext()
        await store.remove(at('a'))
      }, inMinutes(0.5))
      expect(await claiming.claimEvents()).toMatchObject([{ type: 'deleted', attempts: 1 }])
    })

    it('extends its expired claim gets nothing', async () => {
      await activate('a')
      const [event] = await store.claimEvents()
      const extend = () => store.extendClaims(claimsOf([event!]), { claimSeconds: 3600 })
      expect(await interrupted(extend, inMinutes(2)).claimEvents()).toEqual([])
      expect(await store.settleEvents(claimsOf([event!]))).toEqual([event!.id])
    })

    it('claims the event until then counts that claim too', async () => {
      await activate('a')
      await store.claimEvents()
      const other = mongoAdapter(db, { now: inMinutes(2) })
      const claiming = interrupted(() => other.claimEvents(), inMinutes(4))
      expect(await claiming.claimEvents()).toMatchObject([{ attempts: 3 }])
    })
  })

  describe('a process that died while it recorded an event', () => {
    /** Leaves a transaction open that has written to the queue of a key. */
    async function block(key: string): Promise<() => Promise<void>> {
      const { items } = await store.listEvents()
      const { id } = items.find(({ object }) => object.key === key)!
      const session = client.startSession()
      session.startTransaction()
      await db
        .collection<{ _id: string }>('svc_db_events')
        .updateOne({ _id: id.slice(36) }, { $inc: { n: 1 } }, { session })
      return async () => {
        await session.abortTransaction()
        await session.endSession()
      }
    }

    it('holds up claims of its object only', async () => {
      for (const key of ['a', 'b', 'c', 'd']) await activate(key)
      const unblock = await block('a')
      const keys: string[] = []
      while (keys.length < 3) keys.push(...keysOf(await store.claimEvents()))
      expect(keys.sort()).toEqual(['b', 'c', 'd'])
      await unblock()
      expect(keysOf(await store.claimEvents())).toEqual(['a'])
    })

    it('delays a claim of many events that did not end in time, but leaves out none', async () => {
      for (const key of ['a', 'b', 'c']) await activate(key)
      // The first one is claimed before the command waits for the second.
      const queues = db.collection<{ _id: string }>('svc_db_events').find({ ripeAt: { $type: 'date' } })
      const [, second] = await queues.sort({ ripeAt: 1, _id: 1 }).toArray()
      const { items } = await store.listEvents()
      const unblock = await block(items.find(({ id }) => id.endsWith(second!._id))!.object.key)
      take()
      const claiming = store.claimEvents()
      // Looks for what the first command has claimed.
      await expect.poll(() => take().map(({ name }) => name)).toContain('find')
      await unblock()
      expect(keysOf(await claiming).sort()).toEqual(['a', 'b', 'c'])
    })

    it('holds up extensions of its object only', async () => {
      for (const key of ['a', 'b', 'c', 'd']) await activate(key)
      const events = await store.claimEvents({ claimSeconds: 60 })
      const unblock = await block('b')
      const extending = store.extendClaims(claimsOf(events), { claimSeconds: 3600 })
      const soon = Date.now() + 60_000
      const extended = async () =>
        (await store.listEvents()).items.filter(({ dueAt }) => dueAt.getTime() > soon)
      await expect.poll(() => extended()).toHaveLength(3)
      await unblock()
      expect(await extending).toEqual(events.map(({ id }) => id))
      expect(await extended()).toHaveLength(4)
    })

    it('holds up settlements of its object only', async () => {
      for (const key of ['a', 'b', 'c', 'd']) await activate(key)
      const events = await store.claimEvents()
      const unblock = await block('b')
      const settling = store.settleEvents(claimsOf(events))
      await expect.poll(() => documents()).toBe(2)
      await unblock()
      expect(await settling).toEqual(events.map(({ id }) => id))
      expect(await documents()).toBe(0)
    })

    it('fails settlements of its object only', async () => {
      for (const key of ['a', 'b', 'c', 'd']) await activate(key)
      const events = await store.claimEvents()
      const unblock = await block('b')
      const driver = createMongoDriver({ namespace: openNamespace(db, 'svc_db_'), timeout: 3000 })
      const settled = await createStore(driver).settleEvents(claimsOf(events))
      expect(settled).toEqual(events.filter(({ object }) => object.key !== 'b').map(({ id }) => id))
      await unblock()
    })
  })

  it.each(['claimEvents', 'extendClaims', 'settleEvents'])(
    '%s has its effect once, if responses are lost',
    async (name) => {
      const keys = ['a', 'b', 'c']
      for (const key of keys) await activate(key)
      const proxy = await wireProxy(url)
      onTestFinished(() => proxy.close())
      const other = clientOf(proxy.url)
      onTestFinished(() => other.close())
      const through = mongoAdapter(other.db(db.databaseName))
      await through.countEvents()
      let lost = 0
      const isOf = (command: Record<string, unknown>) =>
        ['update', 'delete', 'commitTransaction'].some((name) => name in command)
      const lose = () => (proxy.onCommand = (command) => (isOf(command) && lost++ < 2 ? 'cut-after' : 'pass'))
      if (name === 'claimEvents') lose()
      const events = await through.claimEvents()
      expect(keysOf(events)).toEqual(keys)
      expect(events).toMatchObject(keys.map(() => ({ attempts: 1 })))
      const ids = events.map(({ id }) => id)
      if (name === 'extendClaims') lose()
      expect(await through.extendClaims(claimsOf(events))).toEqual(ids)
      if (name === 'settleEvents') lose()
      expect(await through.settleEvents(claimsOf(events))).toEqual(ids)
      expect(lost).toBeGreaterThan(1)
      expect(await documents()).toBe(0)
    },
  )
})
