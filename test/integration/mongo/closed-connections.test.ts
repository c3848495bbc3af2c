import { once } from 'node:events'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { StorageObjectStore } from '@svc/db'
import type mongoose from 'mongoose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { mongoAdapter, type MongoDatabase } from '../../../src/adapters/mongo/index.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

// Loaded without its types, which declare a module of the same name as those of mongoose 9.
const { createConnection } = createRequire(import.meta.url)('mongoose8') as typeof mongoose

const CALLERS = 6
const EXPIRES = new Date('2100-01-01')

interface Opened {
  readonly db: MongoDatabase
  readonly close: () => Promise<unknown>
}

/** The newest driver, the oldest one, and one in between, which mongoose 8 has. */
const DRIVERS: Readonly<Record<string, (url: string, database: string) => Promise<Opened>>> = {
  'driver 7': (url, database) => opened(7, url, database),
  'driver 6': (url, database) => opened(6, url, database),
  'mongoose 8': async (url, database) => {
    const connection = await createConnection(url, { dbName: database }).asPromise()
    return { db: connection.db!, close: () => connection.close() }
  },
}

function opened(driver: 6 | 7, url: string, database: string): Promise<Opened> {
  const client = clientOf(url, {}, driver)
  return Promise.resolve({ db: client.db(database), close: () => client.close() })
}

describeMongo('connections that are closed while the event loop stands still', (url) => {
  const direct = clientOf(url)
  const db = freshDatabase(direct)
  const signal = new Int32Array(new SharedArrayBuffer(4))
  let relay: Worker
  let relayed: string
  beforeAll(async () => {
    await mongoAdapter(db).migrate()
    const { hostname, port } = new URL(url.replace(/,[^/]*/, ''))
    const workerData = { hostname, port: Number(port), signal }
    relay = new Worker(new URL('./closing-relay.mjs', import.meta.url), { workerData })
    const [listening] = (await once(relay, 'message')) as [number]
    relayed = `mongodb://127.0.0.1:${listening}/?directConnection=true`
  })
  afterAll(async () => {
    await relay.terminate()
    await db.dropDatabase()
    await direct.close()
  })

  /** Closes all connections, and returns before this thread can notice. */
  function closeAll(end: 'FIN' | 'RST'): void {
    Atomics.store(signal, 0, 0)
    relay.postMessage(end)
    Atomics.wait(signal, 0, 0)
  }

  const attempt = (key: string) => ({
    ...{ scope: key, bucket: 'files', key, declaredSize: 5, expiresAt: EXPIRES },
  })

  /** Every kind of call that sends its first command by itself. */
  const callsOf = (store: StorageObjectStore, round: string) =>
    Array.from({ length: CALLERS }, (_, i) => [
      store.ping(),
      store.reserve(attempt(`${round} ${i}`)),
      store.getScopeUsage('ann'),
      store.listByScope({ scope: 'ann' }),
      store.claimEvents(),
      store.deferLeftover({ attemptId: ID, until: EXPIRES }),
    ]).flat()

  for (const [driver, open] of Object.entries(DRIVERS)) {
    it.each(['FIN', 'RST'] as const)(`no call of ${driver} fails after %s`, async (end) => {
      const { db: own, close } = await open(relayed, db.databaseName)
      const store = mongoAdapter(own)
      try {
        for (const round of ['first', 'second']) {
          await Promise.all(callsOf(store, `${driver} ${end} ${round} before`))
          closeAll(end)
          const results = await Promise.allSettled(callsOf(store, `${driver} ${end} ${round}`))
          expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
        }
      } finally {
        await close()
      }
      const plain = mongoAdapter(db)
      for (let i = 0; i < CALLERS; i++) {
        const key = `${driver} ${end} second ${i}`
        expect(await plain.findPending({ bucket: 'files', key })).toMatchObject({ scope: key })
      }
      expect(await plain.checkUsage()).toEqual([])
    })
  }
})

const ID = '01890a5d-ac96-774b-bcce-b302099a8057'
