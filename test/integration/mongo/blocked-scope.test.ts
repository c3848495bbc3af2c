import { setImmediate } from 'node:timers/promises'
import type { ObjectReference, StorageObject } from '@svc/db'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { keyId } from '../../../src/core/names.js'
import { openNamespace } from '../../../src/adapters/mongo/connection/namespace.js'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { createMongoDriver } from '../../../src/adapters/mongo/driver.js'
import { createStore } from '../../../src/core/store/create-store.js'
import { afterNoon, NOON, settableClock } from '../../unit/core/settable-clock.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'
import { watchedClient } from './watched-client.js'
import { wireProxy } from './wire-proxy.js'

const HOUR = 3_600_000

// A process that dies within a transaction leaves it open until the server ends it, 60 seconds later by default.
describeMongo('while an open transaction blocks a scope', (url) => {
  const client = clientOf(url)
  const db = freshDatabase(client)
  const clock = settableClock()
  const store = mongoAdapter(db, { now: clock.now })
  beforeAll(async () => {
    await store.migrate()
  })
  beforeEach(() => clock.set(NOON))
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })

  function reserve(scope: string, key: string, lifetime = HOUR): Promise<StorageObject> {
    const at = { bucket: 'bucket', key: `${scope}/${key}` }
    return store.reserve({
      ...at,
      scope,
      declaredSize: 5,
      expiresAt: new Date(clock.now().getTime() + lifetime),
    })
  }

  /** Changes the document of the scope in a transaction. Returns a function that ends it. */
  async function block(scope: string): Promise<() => Promise<void>> {
    const session = client.startSession()
    onTestFinished(() => session.endSession())
    session.startTransaction()
    const scopes = db.collection<{ _id: string }>('svc_db_objects')
    await scopes.updateOne({ _id: scope }, { $inc: { turns: 1 } }, { session })
    return () => session.abortTransaction()
  }

  /** Changes the document of the key in a transaction. Returns a function that ends it. */
  async function hold(reference: ObjectReference): Promise<() => Promise<void>> {
    const session = client.startSession()
    onTestFinished(() => session.endSession())
    session.startTransaction()
    const documents = db.collection<{ _id: string }>('svc_db_objects')
    const changed = await documents.updateOne(
      { _id: keyId(reference) },
      { $set: { foreign: true } },
      { session },
    )
    expect(changed).toMatchObject({ modifiedCount: 1 })
    return () => session.abortTransaction()
  }

  async function purge(): Promise<string[]> {
    return (await store.purgeExpired()).map(({ key }) => key).sort()
  }

  it('a call that gives up names the transaction, not the server, as the reason', async () => {
    const driver = createMongoDriver({ namespace: openNamespace(db, 'svc_db_'), timeout: 5000 })
    const impatient = createStore(driver, { now: clock.now })
    await reserve('blocked', 'first')
    const unblock = await block('blocked')
    const input = { scope: 'blocked', bucket: 'bucket', key: 'given-up', declaredSize: 5 }
    await expect(impatient.reserve({ ...input, expiresAt: afterNoon(HOUR) })).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      retryable: true,
      message: expect.stringContaining('transactionLifetimeLimitSeconds') as string,
    })
    await unblock()
  })

  it('purgeExpired skips its rows and purges those of other scopes', async () => {
    await reserve('blocked', 'a', 1)
    await reserve('free', 'a', 1)
    clock.set(afterNoon(1))
    const unblock = await block('blocked')
    expect(await purge()).toEqual(['free/a'])
    await unblock()
    expect(await purge()).toEqual(['blocked/a'])
    expect(await store.checkUsage()).toEqual([])
  })

  it('purgeExpired does not wait behind other writes of the scope, which succeed later', async () => {
    await reserve('busy', 'a', 1)
    await reserve('busy', 'b', 1)
    clock.set(afterNoon(1))
    const unblock = await block('busy')
    const writes = [reserve('busy', 'c'), reserve('busy', 'd')]
    expect(await Promise.all([purge(), purge()])).toEqual([[], []])
    await unblock()
    await Promise.all(writes)
    expect(await store.countByScope('busy')).toBe(4)
    expect(await purge()).toEqual(['busy/a', 'busy/b'])
    expect(await store.checkUsage()).toEqual([])
  })

  it('a write that waits for a purge takes its turn when the purge is skipped', async () => {
    await reserve('waiting', 'a', 1)
    clock.set(afterNoon(1))
    const unblock = await block('waiting')
    const purging = purge()
    const write = reserve('waiting', 'b')
    expect(await purging).toEqual([])
    await unblock()
    await write
    expect(await purge()).toEqual(['waiting/a'])
  })

  it('update and setUploadId do not wait for the scope, which they do not change', async () => {
    const pending = await reserve('described', 'pending')
    const { id, bucket, key } = await reserve('described', 'active')
    await store.confirm({ bucket, key, id, scope: 'described', size: 5 })
    const unblock = await block('described')
    const blocked = reserve('described', 'blocked')
    const uploadId = 'upload'
    expect(await store.update({ bucket, key, scope: 'described', filename: 'new' })).toMatchObject({
      filename: 'new',
    })
    expect(await store.setUploadId({ bucket, key: pending.key, id: pending.id, uploadId })).toMatchObject({
      uploadId,
    })
    await unblock()
    await blocked
  })

  it('writes stay together if another transaction holds a key of theirs only for a moment', async () => {
    const proxy = await wireProxy(url)
    onTestFinished(() => proxy.close())
    const watched = watchedClient(proxy.url)
    onTestFinished(() => watched.client.close())
    const passing = mongoAdapter(watched.client.db(db.databaseName), { now: clock.now })
    const { bucket, key, scope } = await reserve('crowded', 'held')
    const release = await hold({ bucket, key })
    let tries = 0
    proxy.onCommand = (command) => {
      const reads = JSON.stringify(command['filter'] ?? null).includes(JSON.stringify(keyId({ bucket, key })))
      if (!reads || ++tries < 3) return 'pass'
      void release().then(() => proxy.release())
      return 'hold'
    }
    const write = (name: string) =>
      passing.reserve({
        ...{ bucket, scope: 'crowded', key: `crowded/${name}`, declaredSize: 5, expiresAt: afterNoon(HOUR) },
      })
    await passing.getScopeUsage('crowded')
    const rows = await Promise.all(['first', 'held', 'a', 'b', 'c'].map(write))
    expect(rows).toMatchObject(Array(5).fill({ scope }))
    expect(tries).toBe(3)
    // The first write alone, then the others.
    expect(watched.take().filter(({ name }) => name === 'commitTransaction')).toHaveLength(2)
    expect(await store.checkUsage()).toEqual([])
  })

  it('writes that arrive meanwhile join those that wait for it in one transaction', async () => {
    await reserve('awaited', 'first')
    const watched = watchedClient(url)
    onTestFinished(() => watched.client.close())
    const waiting = mongoAdapter(watched.client.db(db.databaseName), { now: clock.now })
    const write = (name: string) =>
      waiting.reserve({
        ...{ bucket: 'bucket', scope: 'awaited', key: `awaited/${name}`, declaredSize: 5 },
        expiresAt: afterNoon(HOUR),
      })
    await waiting.getScopeUsage('awaited')
    const unblock = await block('awaited')
    const taken: string[] = []
    const count = (name: string) => {
      taken.push(...watched.take().map((command) => command.name))
      return taken.filter((command) => command === name).length
    }
    const untilTried = async () => {
      const before = count('abortTransaction')
      await expect.poll(() => count('abortTransaction')).toBeGreaterThan(before + 2)
    }
    const writes = [write('a')]
    await untilTried()
    writes.push(write('b'), write('c'))
    await untilTried()
    await unblock()
    await Promise.all(writes)
    expect(count('commitTransaction')).toBe(1)
    expect(await store.checkUsage()).toEqual([])
  })

  it('a transfer between two others does not wait for one from or to it', async () => {
    for (const scope of ['ours', 'theirs', 'shut']) await reserve(scope, 'first')
    const move = async (from: string, to: string) => {
      const { bucket, key, id } = await reserve(from, `to ${to}`)
      await store.confirm({ bucket, key, id, scope: from, size: 5 })
      return () => store.transfer({ bucket, key, from, to })
    }
    const free = await move('ours', 'theirs')
    const shut = await move('theirs', 'shut')
    const unblock = await block('shut')
    // Two in flight, so that the transfers share the next group.
    const busy = [reserve('x', 'x'), reserve('y', 'y')]
    const moved = free()
    let isBlocked = true
    const blocked = shut().finally(() => (isBlocked = false))
    expect(await moved).toMatchObject({ scope: 'theirs' })
    await setImmediate()
    expect(isBlocked).toBe(true)
    await unblock()
    expect(await blocked).toMatchObject({ scope: 'shut' })
    await Promise.all(busy)
    expect(await store.checkUsage()).toEqual([])
  })

  it('writes of other keys pass a key that the transaction holds', async () => {
    const { key } = await reserve('ann', 'held')
    const release = await hold({ bucket: 'bucket', key })
    const held = [reserve('ann', 'held'), reserve('ann', 'held')]
    await reserve('ann', 'free')
    await Promise.all([reserve('ann', 'a'), reserve('ann', 'b')])
    await release()
    const ids = (await Promise.all(held)).map(({ id }) => id)
    expect(await store.find({ bucket: 'bucket', key })).toMatchObject({ id: ids[1] })
    expect(await store.checkUsage()).toEqual([])
  })
})
