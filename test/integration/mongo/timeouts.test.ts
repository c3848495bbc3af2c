import { createAttemptId, type StorageObjectStore } from '@svc/db'
import type { Db } from 'mongodb'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { createStore } from '../../../src/core/store/create-store.js'
import { openNamespace } from '../../../src/adapters/mongo/connection/namespace.js'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { createMongoDriver } from '../../../src/adapters/mongo/driver.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const SCOPE = 'scope'
const attempt = (key: string, scope = SCOPE) => ({
  ...{ scope, bucket: 'bucket', key, declaredSize: 5 },
  expiresAt: new Date(Date.now() + 3_600_000),
})

describeMongo('the MongoDB adapter', (url) => {
  const direct = clientOf(url)
  const db = freshDatabase(direct)
  let proxy: WireProxy
  beforeAll(async () => {
    proxy = await wireProxy(url)
    await mongoAdapter(db).migrate()
  })
  beforeEach(async () => {
    proxy.onCommand = () => 'pass'
    await db.collection('svc_db_objects').deleteMany({})
  })
  afterAll(async () => {
    await db.dropDatabase()
    await direct.close()
    await proxy.close()
  })

  /** Opens a store with this timeout, in milliseconds, through the proxy. */
  async function withTimeout(timeout: number, use: (store: StorageObjectStore, own: Db) => Promise<void>) {
    const client = clientOf(proxy.url)
    const own = client.db(db.databaseName)
    const namespace = openNamespace(own, 'svc_db_')
    try {
      await use(createStore(createMongoDriver({ namespace, timeout })), own)
    } finally {
      await client.close()
    }
  }

  it.each(['find', 'update', 'commitTransaction'])(
    'rejects when the server does not respond to %s, and the call can be repeated',
    async (statement) => {
      await withTimeout(5000, async (store, own) => {
        const input = { ...attempt(`silent ${statement}`), id: createAttemptId() }
        await store.getScopeUsage(SCOPE)
        proxy.onCommand = (command) =>
          statement in command && command['lsid'] !== undefined ? 'swallow' : 'pass'
        const reserving = store.reserve(input)
        await expect(reserving).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
        await expect(reserving).rejects.toThrow(/unknown; retrying with the same id is safe/)
        proxy.onCommand = () => 'pass'
        expect(await mongoAdapter(own).reserve(input)).toMatchObject({ id: input.id })
        expect(await mongoAdapter(db).countByScope(SCOPE)).toBe(1)
      })
    },
  )

  it('does not delay writes of other scopes while those of one scope hang', async () => {
    await withTimeout(10_000, async (store) => {
      await store.getScopeUsage(SCOPE)
      proxy.onCommand = (command) => {
        const text = JSON.stringify(command, (_, value: unknown) => (typeof value === 'bigint' ? '' : value))
        return text.includes('hanging') ? 'swallow' : 'pass'
      }
      const hanging = Array.from({ length: 100 }, (_, i) =>
        store.reserve(attempt(`hanging ${i}`, 'hanging')).then(
          () => 'done',
          (error: { code: string }) => error.code,
        ),
      )
      await Promise.all(['a', 'b', 'c'].map((key) => store.reserve(attempt(key))))
      expect(new Set(await Promise.all(hanging))).toEqual(new Set(['DATABASE_UNAVAILABLE']))
      proxy.onCommand = () => 'pass'
      expect(await store.reserve(attempt('again', 'hanging'))).toMatchObject({ key: 'again' })
    })
  })

  it('rejects with DATABASE_UNAVAILABLE and the cause when there is no server', async () => {
    const client = clientOf('mongodb://127.0.0.1:1/?directConnection=true', { serverSelectionTimeoutMS: 200 })
    onTestFinished(() => client.close())
    const store = mongoAdapter(client.db('nowhere'))
    for (const call of [
      () => store.ping(),
      () => store.migrate(),
      () => store.verify(),
      () => store.getScopeUsage(SCOPE),
      () => store.reserve(attempt('k')),
    ]) {
      const error: unknown = await call().catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true })
      expect((error as Error).cause).toMatchObject({
        name: expect.stringMatching(/^Mongo(ServerSelection|TopologyClosed)Error$/) as string,
      })
    }
  })

  it('rejects with DATABASE_UNAVAILABLE at once when the application has closed its client', async () => {
    const client = clientOf(url)
    const store = mongoAdapter(client.db(db.databaseName))
    await store.getScopeUsage(SCOPE)
    await client.close()
    // Some versions of the driver reopen a closed client instead.
    await store
      .ping()
      .catch((error: unknown) => expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE' }))
    await client.close()
  })
})
