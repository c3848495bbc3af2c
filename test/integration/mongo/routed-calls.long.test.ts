import { createAttemptId, type StorageObjectStore } from '@svc/db'
import { MongoClient, type Db, type Timestamp } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { onServer } from '../../servers/mongod.js'
import type { ShardedCluster } from '../../servers/sharded-cluster.js'
import { COMMIT_CALLS, commitTypesOf, findPlace, type Place } from './commit-calls.js'
import { CALLS, fillScope, makeCall } from './counted-calls.js'
import { databaseOf, LAYOUTS, routerReason, startCluster } from './sharded-databases.js'
import { watchedClient, type WatchedClient } from './watched-client.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const EXPIRES = new Date('2100-01-01')
const anywhere = (scope: string): Place => ({
  scope,
  other: `other ${scope}`,
  at: { bucket: 'placed', key: createAttemptId() },
  id: createAttemptId(),
})
const HOUR = 3_600_000
const OBJECTS = 200
const ROUNDS = 24
/** Milliseconds. */
const DELAY = 300

const onShard = (shard: string, command: object) =>
  onServer(shard, (client) => client.db('admin').command({ ...command }))

/** Delays commands on a shard, the next one or all until the mode is `off`. Returns how many have been delayed before. */
async function delay(shard: string, mode: { times: 1 } | 'alwaysOn' | 'off', data: object): Promise<number> {
  const { count } = await onShard(shard, {
    ...{ configureFailPoint: 'failCommand', mode },
    data: { ...data, failInternalCommands: true, blockConnection: true, blockTimeMS: DELAY },
  })
  return (count as number | undefined) ?? 0
}

/** Delays the next `find` of a collection on a shard. Returns a function that waits until it has begun. */
async function delayNextFind(shard: string, namespace: string): Promise<() => Promise<unknown>> {
  const count = await delay(shard, { times: 1 }, { failCommands: ['find'], namespace })
  const entered = { waitForFailPoint: 'failCommand', timesEntered: count + 1, maxTimeMS: 900_000 }
  return () => onShard(shard, entered)
}

/** Makes the next read of a moment read this one instead. Returns whether that has happened. */
function readAt(proxy: WireProxy, atClusterTime: Timestamp): () => boolean {
  let isDone = false
  proxy.onCommand = (command) => {
    const concern = command['readConcern'] as { level?: string } | undefined
    if (isDone || concern?.level !== 'snapshot') return 'pass'
    isDone = true
    return { instead: { ...command, readConcern: { ...concern, atClusterTime } } }
  }
  return () => isDone
}

describe.skipIf(routerReason !== '')(`calls through mongos${routerReason}`, () => {
  let cluster: ShardedCluster
  let watched: WatchedClient
  let writing: MongoClient
  let reading: MongoClient
  beforeAll(async () => {
    cluster = await startCluster()
    watched = watchedClient(cluster.url)
    writing = watched.client
    reading = new MongoClient(await cluster.addRouter())
  })
  afterAll(async () => {
    await Promise.all([writing.close(), reading.close()])
    await cluster.remove()
  })

  for (const layout of LAYOUTS) {
    describe(layout, () => {
      let beforeSharding: Timestamp
      let db: Db
      let writer: StorageObjectStore
      let reader: StorageObjectStore
      let later: StorageObjectStore
      beforeAll(async () => {
        const { operationTime } = await writing.db('admin').command({ hello: 1 })
        beforeSharding = operationTime as Timestamp
        db = await databaseOf(writing, layout)
        writer = mongoAdapter(db)
        later = mongoAdapter(db, { now: () => new Date(Date.now() + 2 * HOUR) })
        await writer.migrate()
        await fillScope(writer)
        reader = mongoAdapter(reading.db(db.databaseName))
      })

      // Sharding a collection, and moving its chunks, makes earlier moments unreadable.
      it.skipIf(layout === 'unsharded').each<[string, (store: StorageObjectStore) => Promise<unknown>]>([
        ['a page', (store) => store.listByScope({ scope: 'full' })],
        ['a page of a status', (store) => store.listByScope({ scope: 'full', status: 'active' })],
        ['find', (store) => store.find({ bucket: 'none', key: 'none' })],
        ['findById', (store) => store.findById({ id: createAttemptId() })],
        ['listStored', (store) => store.listStored({ bucket: 'bucket' })],
        ['listScopes', (store) => store.listScopes()],
        ['listExpired', (store) => store.listExpired({ before: EXPIRES })],
        ['listTemporary', (store) => store.listTemporary({ before: EXPIRES })],
        ['listArrived', (store) => store.listArrived()],
      ])('%s of a moment before the collections were sharded is repeated at a later one', async (_, call) => {
        const proxy = await wireProxy(cluster.url)
        const client = new MongoClient(proxy.url)
        const store = mongoAdapter(client.db(db.databaseName))
        await store.ping()
        const isReplaced = readAt(proxy, beforeSharding)
        const found = await call(store)
        expect(found).toEqual(await call(writer))
        expect(isReplaced()).toBe(true)
        await client.close()
        await proxy.close()
      })

      const reserve = (at: { bucket: string; key: string }, scope: string) =>
        writer.reserve({ ...at, scope, storageKey: at.key, declaredSize: 5, expiresAt: EXPIRES })
      const ids = (objects: readonly { readonly id: string }[]) => objects.map(({ id }) => id)

      for (const counted of CALLS) {
        const { name, routed } = counted
        it(`${name}: ${routed.join(', ')}`, async () => {
          expect(await makeCall(writer, counted, () => watched.take())).toEqual(routed)
        })
      }

      it.each([7, 6] as const)('a page reads the time of the shards, with driver %d', async (driver) => {
        const own = watchedClient(cluster.url, {}, driver)
        const { client } = own
        const store = mongoAdapter(client.db(db.databaseName))
        await store.listByScope({ scope: 'full' })
        own.take()
        await store.listByScope({ scope: 'full', status: 'active' })
        const [, page] = own.take().map(({ command }) => command['readConcern'])
        expect(page).toMatchObject({ level: 'snapshot', atClusterTime: expect.anything() as unknown })
        await client.close()
      })

      for (const { name, prepare, call, onOne, onTwo } of COMMIT_CALLS) {
        const isSharded = layout !== 'unsharded'
        const types = isSharded ? [onOne, onTwo] : ['singleShard']
        it(`${name} commits by ${[...new Set(types)].join(' or ')}`, async () => {
          for (const [index, type] of types.entries()) {
            const shards = index === 0 ? 1 : 2
            const place = isSharded ? await findPlace(db, shards) : anywhere(name)
            await prepare?.(writer, place, later)
            expect(await commitTypesOf(db, () => call(writer, place, later))).toEqual([type])
          }
        })
      }

      it('lists return what was acknowledged through another router', async () => {
        const at = { bucket: 'seen', key: 'a' }
        const scope = 'seen'
        const { id } = await reserve(at, scope)
        expect(ids((await reader.listByScope({ scope })).objects)).toEqual([id])
        await writer.setUploadId({ ...at, id, uploadId: 'u' })
        const { objects } = await reader.listByScope({ scope, status: 'pending' })
        expect(objects).toMatchObject([{ id, uploadId: 'u' }])
        await writer.confirm({ ...at, id, scope, size: 5 })
        expect(ids((await reader.listByScope({ scope, status: 'active' })).objects)).toEqual([id])
        await writer.update({ ...at, scope, filename: 'new' })
        const items = await reader.listStored({ bucket: at.bucket })
        expect(items).toMatchObject([{ storageKey: 'a', object: { filename: 'new' } }])
        await writer.remove({ ...at, scope })
        // A commit in two phases is acknowledged before the second shard has committed. Only lists wait for it.
        if (layout === 'unsharded') {
          expect(await reader.find(at)).toMatchObject({ id, status: 'deleted' })
          expect(await reader.findById({ id })).toMatchObject({ id, status: 'deleted' })
        }
        expect(ids((await reader.listByScope({ scope, status: 'deleted' })).objects)).toEqual([id])
        expect(await reader.listLeftovers({ scope })).toHaveLength(1)
      })

      // The shards of a commit in two phases commit after it is acknowledged, here much later.
      it.skipIf(layout === 'unsharded')(
        'a list of leftovers waits for commits that were acknowledged',
        async () => {
          const commits = { failCommands: ['commitTransaction'] }
          for (let round = 0; round < ROUNDS; round++) {
            const place = { bucket: 'acknowledged', key: `key ${round}`, scope: `late ${round}` }
            const { id } = await reserve(place, place.scope)
            await Promise.all(cluster.shards.map(({ url }) => delay(url, 'alwaysOn', commits)))
            await writer.release({ ...place, id })
            expect(await reader.listLeftovers({ scope: place.scope })).toMatchObject([{ attemptId: id }])
            await Promise.all(cluster.shards.map(({ url }) => delay(url, 'off', commits)))
          }
        },
      )

      // Without a common moment of all shards, a transaction could miss what another one adopts on the first shard, and change
      // the lock of the bytes on the second after it. Which of them has the lock and which the key depends on their hashes.
      it.skipIf(layout === 'unsharded')(
        'of two callers that adopt the same bytes, one succeeds',
        async () => {
          for (let round = 0; round < ROUNDS; round++) {
            const slow = cluster.shards[round % 2]!
            const entered = await delayNextFind(slow.url, `${db.databaseName}.svc_db_objects`)
            const adopt = (store: StorageObjectStore, name: string) =>
              store.adopt({
                ...{ scope: `${name} ${round}`, bucket: 'adopted', key: `${name} ${round}` },
                ...{ storageKey: `bytes ${round}`, size: 5, createdAt: new Date() },
              })
            const delayed = adopt(reader, 'delayed')
            await entered()
            const both = [await adopt(writer, 'quick'), await delayed]
            expect(both.filter(({ known }) => !known)).toHaveLength(1)
          }
          expect(await writer.checkUsage()).toEqual([])
        },
      )

      it('lists and finds have each object exactly once while it is confirmed and removed', async () => {
        const scope = 'moving'
        const flaws: unknown[] = []
        for (let i = 0; i < OBJECTS; i++) {
          const at = { bucket: 'moving', key: `key ${i}` }
          const { id } = await reserve(at, scope)
          const readings = {
            list: async () => ids((await reader.listByScope({ scope, limit: 1 })).objects),
            find: async () => ids([await reader.find({ ...at, scope })].filter((row) => row !== null)),
            findById: async () => ids([await reader.findById({ id, scope })].filter((row) => row !== null)),
          }
          const { list, ...finds } = readings
          const during = async (write: Promise<unknown>, reads: readonly (() => Promise<string[]>)[]) => {
            let isOver = false
            const reading = reads.map(async (read) => {
              while (!isOver) {
                const found = await read()
                if (found.length !== 1 || found[0] !== id) flaws.push({ at, found })
              }
            })
            try {
              await write
            } finally {
              isOver = true
              await Promise.all(reading)
            }
          }
          await during(writer.confirm({ ...at, id, scope, size: 5 }), [
            list,
            list,
            list,
            ...Object.values(finds),
          ])
          await during(writer.remove({ ...at, scope }), Object.values(finds))
        }
        expect(flaws).toEqual([])
      })
    })
  }
})
