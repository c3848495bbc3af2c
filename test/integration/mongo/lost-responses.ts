import { createAttemptId, type StorageObjectStore } from '@svc/db'
import type { Db } from 'mongodb'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { clientOf, describeMongo, freshDatabase, type DriverVersion } from './databases.js'
import { wireProxy, type Fate, type WireProxy } from './wire-proxy.js'

const BUCKET = 'bucket'
const inAnHour = () => new Date(Date.now() + 3_600_000)
interface Reference {
  readonly bucket: string
  readonly key: string
}

const SCOPE = 'scope'
type Call = (store: StorageObjectStore, at: Reference) => Promise<unknown>
const reserve = (store: StorageObjectStore, at: Reference) =>
  store.reserve({
    ...{ scope: SCOPE, ...at, declaredSize: 5 },
    ...{ expiresAt: inAnHour(), storageKey: createAttemptId() },
  })
const reserving: Call = async (store, at) => {
  const row = await reserve(store, at)
  expect(await store.findPending(at)).toEqual(row)
}
const activate: Call = async (store, at) => {
  const { id } = await reserve(store, at)
  await store.confirm({ ...at, id, size: 5 })
}
const replacing: Call = async (store, at) => {
  await activate(store, at)
  await reserve(store, at)
}

/** Writes of one key, the state they start from, and the number of live rows and new leftovers they must end with. */
const SCENARIOS: readonly (readonly [
  name: string,
  prepare: Call | null,
  act: Call,
  rows: number,
  leftovers: number,
])[] = [
  ['reserve', null, reserving, 1, 0],
  ['reserve that replaces an attempt', reserve, reserving, 1, 1],
  [
    'confirm of a replacement, without id',
    replacing,
    async (store, at) => {
      const row = await store.confirm({ ...at, size: 7 })
      expect(await store.findActive(at)).toEqual(row)
    },
    1,
    1,
  ],
  ['release', reserve, async (store, at) => expect(await store.release(at)).toMatchObject(at), 0, 1],
  [
    'soft remove of an object and its replacement',
    replacing,
    async (store, at) => expect(await store.remove(at)).toMatchObject({ ...at, status: 'deleted' }),
    0,
    2,
  ],
  [
    'hard remove',
    activate,
    async (store, at) => expect(await store.remove({ ...at, mode: 'hard' })).toMatchObject(at),
    0,
    1,
  ],
]

/** Registers tests of responses that never arrive. */
export function lostResponseTests(driver: DriverVersion): void {
  describeMongo(`lost connections`, (url) => {
    const direct = clientOf(url)
    const db = freshDatabase(direct)
    let proxy: WireProxy
    beforeAll(async () => {
      proxy = await wireProxy(url)
      await mongoAdapter(db).migrate()
    })
    beforeEach(async () => {
      proxy.onCommand = () => 'pass'
      for (const name of ['objects', 'history', 'leftovers'])
        await db.collection(`svc_db_${name}`).deleteMany({})
    })
    afterAll(async () => {
      await db.dropDatabase()
      await direct.close()
      await proxy.close()
    })

    async function throughProxy<T>(use: (own: Db) => Promise<T>): Promise<T> {
      const client = clientOf(proxy.url, {}, driver)
      try {
        return await use(client.db(db.databaseName))
      } finally {
        await client.close()
      }
    }

    /** Applies a fate to the next commands of that name. Returns a function that counts them. */
    function fail(name: string, fate: Fate, times = 1): () => number {
      let count = 0
      proxy.onCommand = (command) => {
        if (!(name in command) || command['lsid'] === undefined || count === times) return 'pass'
        count++
        return fate
      }
      return () => count
    }

    describe.each(['cut-before', 'cut-after'] as const)('%s', (fate) => {
      for (const [name, prepare, act, rows, leftovers] of SCENARIOS) {
        it(`${name} takes effect exactly once, whichever command fails`, async () => {
          const plain = mongoAdapter(db)
          await throughProxy(async (own) => {
            const store = mongoAdapter(own)
            await store.getScopeUsage(SCOPE)

            /** Runs the scenario on a new key and checks the result, while `arrange` decides what the proxy does. */
            async function run(keySuffix: string, arrange: () => void): Promise<void> {
              const at = { bucket: BUCKET, key: `${name} ${keySuffix}` }
              await prepare?.(plain, at)
              const before = await plain.countByScope(SCOPE)
              const leftoversBefore = (await plain.listLeftovers({ limit: 1000 })).length
              arrange()
              await act(store, at)
              proxy.onCommand = () => 'pass'
              const live = [await plain.findActive(at), await plain.findPending(at)].filter(Boolean)
              expect(live).toHaveLength(rows)
              const expected = before + rows - (prepare === replacing ? 2 : prepare ? 1 : 0)
              expect(await plain.countByScope(SCOPE)).toBe(expected)
              expect(await plain.listLeftovers({ limit: 1000 })).toHaveLength(leftoversBefore + leftovers)
            }

            const sent = new Set<string>()
            await run('undisturbed', () => {
              proxy.onCommand = (command) => {
                if (command['lsid'] !== undefined) sent.add(Object.keys(command)[0]!)
                return 'pass'
              }
            })
            expect([...sent]).toContain('commitTransaction')
            for (const statement of sent) {
              for (const times of [1, 3]) {
                let failures = () => 0
                await run(`${statement} ${times}`, () => (failures = fail(statement, fate, times)))
                expect(failures()).toBe(times)
              }
            }
          })
          expect(await plain.checkUsage()).toEqual([])
        })
      }
    })

    it('forgetLeftover returns true exactly once', async () => {
      const plain = mongoAdapter(db)
      const at = { bucket: BUCKET, key: 'left' }
      await reserve(plain, at)
      const { id } = (await plain.release(at))!
      await throughProxy(async (own) => {
        const store = mongoAdapter(own)
        await store.getScopeUsage(SCOPE)
        fail('commitTransaction', 'cut-after')
        expect(await store.forgetLeftover({ attemptId: id })).toBe(true)
        expect(await store.forgetLeftover({ attemptId: id })).toBe(false)
      })
    })

    // A router without a primary, a server that ends the transaction, and one that has forgotten it can report such an error
    // after the commit. No server does so on demand.
    it.each([133, 251, 290])(
      'a commit that fails with %i after it took effect is not repeated as a transaction',
      async (code) => {
        const at = { bucket: BUCKET, key: `commit ${code}` }
        await activate(mongoAdapter(db), at)
        let failures = 0
        const client = clientThatFailsAfterCommit(() => {
          if (failures++ === 0) throw Object.assign(new Error('The router found no primary.'), { code })
        })
        const store = mongoAdapter(client.db(db.databaseName))
        expect(await store.remove({ ...at, mode: 'hard' })).toMatchObject(at)
        expect(failures).toBe(2)
      },
    )

    it('a commit whose client was closed meanwhile rejects with DATABASE_UNAVAILABLE', async () => {
      const at = { bucket: BUCKET, key: 'closed' }
      const client = clientThatFailsAfterCommit(async () => {
        await client.close()
        throw Object.assign(new Error('The client is closed.'), { name: 'MongoClientClosedError' })
      })
      await expect(reserve(mongoAdapter(client.db(db.databaseName)), at)).rejects.toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        message: expect.stringContaining('The client was closed during a commit.') as string,
      })
      expect(await mongoAdapter(db).findPending(at)).not.toBeNull()
    })

    /** Opens a client that calls a function after each commit, before the caller gets its response. */
    function clientThatFailsAfterCommit(fail: () => void | Promise<void>) {
      const client = clientOf(url)
      onTestFinished(() => client.close())
      const startSession = client.startSession.bind(client)
      client.startSession = (options) => {
        const session = startSession(options)
        const commit = session.commitTransaction.bind(session)
        session.commitTransaction = async () => {
          await commit()
          await fail()
        }
        return session
      }
      return client
    }
  })
}
