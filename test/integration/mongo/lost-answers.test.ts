import { createAttemptId, type StorageObjectStore } from '@svc/db'
import type { Db } from 'mongodb'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createStore } from '../../../src/core/store/create-store.js'
import { openPlace } from '../../../src/adapters/mongo/connection/place.js'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { createMongoDriver } from '../../../src/adapters/mongo/mongo-driver.js'
import { clientOf, describeMongo, freshDatabase, type DriverVersion } from './places.js'
import { wireProxy, type Fate, type WireProxy } from './wire-proxy.js'

const BUCKET = 'bucket'
const inAnHour = () => new Date(Date.now() + 3_600_000)
const STATEMENTS = [
  'find',
  'aggregate',
  'update',
  'delete',
  'findAndModify',
  'commitTransaction',
  'abortTransaction',
]

/** What a caller does with one key, each on a state that was prepared without trouble; and what must be there then. */
interface Story {
  readonly does: string
  readonly prepare?: (store: StorageObjectStore, at: Reference) => Promise<unknown>
  readonly act: (store: StorageObjectStore, at: Reference) => Promise<unknown>
  readonly rows: number
  readonly leftovers: number
}
interface Reference {
  readonly bucket: string
  readonly key: string
}

const SCOPE = 'scope'
const reserve = (store: StorageObjectStore, at: Reference) =>
  store.reserve({
    scope: SCOPE,
    ...at,
    declaredSize: 5,
    expiresAt: inAnHour(),
    storageKey: createAttemptId(),
  })
const activate = async (store: StorageObjectStore, at: Reference) => {
  const { id } = await reserve(store, at)
  await store.confirm({ ...at, id, size: 5 })
}
const replacing = async (store: StorageObjectStore, at: Reference) => {
  await activate(store, at)
  await reserve(store, at)
}

const STORIES: readonly Story[] = [
  {
    does: 'reserve',
    act: async (store, at) => {
      const row = await reserve(store, at)
      expect(await store.findPending(at)).toEqual(row)
    },
    rows: 1,
    leftovers: 0,
  },
  {
    does: 'reserve over another attempt',
    prepare: reserve,
    act: async (store, at) => {
      const row = await reserve(store, at)
      expect(await store.findPending(at)).toEqual(row)
    },
    rows: 1,
    leftovers: 1,
  },
  {
    does: 'confirm without id, of a replacement',
    prepare: replacing,
    act: async (store, at) => {
      const row = await store.confirm({ ...at, size: 7 })
      expect(await store.findActive(at)).toEqual(row)
    },
    rows: 1,
    leftovers: 1,
  },
  {
    does: 'release',
    prepare: reserve,
    act: async (store, at) => expect(await store.release(at)).toMatchObject(at),
    rows: 0,
    leftovers: 1,
  },
  {
    does: 'soft remove of an object and its replacement',
    prepare: replacing,
    act: async (store, at) => expect(await store.remove(at)).toMatchObject({ ...at, status: 'deleted' }),
    rows: 0,
    leftovers: 2,
  },
  {
    does: 'hard remove',
    prepare: activate,
    act: async (store, at) => expect(await store.remove({ ...at, mode: 'hard' })).toMatchObject(at),
    rows: 0,
    leftovers: 1,
  },
]

describeMongo('answers that are lost', (url) => {
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

  async function throughProxy<T>(
    use: (own: Db) => Promise<T>,
    driver: DriverVersion = 7,
    options = {},
  ): Promise<T> {
    const client = clientOf(proxy.url, options, driver)
    try {
      return await use(client.db(db.databaseName))
    } finally {
      await client.close()
    }
  }

  /** Lets the first commands of that name meet this fate. */
  function trouble(name: string, fate: Fate, times = 1): () => number {
    let met = 0
    proxy.onCommand = (command) => {
      if (!(name in command) || command['lsid'] === undefined || met === times) return 'pass'
      met++
      return fate
    }
    return () => met
  }

  for (const driver of [7, 6] as const) {
    describe.each(['cut-before', 'cut-after'] as const)(`driver ${driver}: %s`, (fate) => {
      for (const { does, prepare, act, rows, leftovers } of STORIES) {
        it(`${does}: done once, whatever command it is`, async () => {
          const plain = mongoAdapter(db)
          await throughProxy(async (own) => {
            const store = mongoAdapter(own)
            await store.getScopeUsage(SCOPE)
            for (const statement of STATEMENTS) {
              for (const times of [1, 3]) {
                const at = { bucket: BUCKET, key: `${does} ${statement} ${times}` }
                await prepare?.(plain, at)
                const before = await plain.countByScope(SCOPE)
                const left = (await plain.listLeftovers({ limit: 1000 })).length
                const met = trouble(statement, fate, times)
                await act(store, at)
                proxy.onCommand = () => 'pass'
                if (statement === 'commitTransaction') expect(met()).toBe(times)
                const live = [await plain.findActive(at), await plain.findPending(at)].filter(Boolean)
                expect(live).toHaveLength(rows)
                const expected = before + rows - (prepare === replacing ? 2 : prepare ? 1 : 0)
                expect(await plain.countByScope(SCOPE)).toBe(expected)
                expect(await plain.listLeftovers({ limit: 1000 })).toHaveLength(left + leftovers)
              }
            }
          }, driver)
          expect(await plain.checkUsage()).toEqual([])
        })
      }
    })
  }

  it('of half of all commands, under 16 callers: everybody gets the answer, and all is there once', async () => {
    await throughProxy(async (own) => {
      const store = mongoAdapter(own)
      await store.getScopeUsage(SCOPE)
      let count = 0
      // Every connection that breaks takes all that is under way on it along.
      proxy.onCommand = (command) => {
        if (command['lsid'] === undefined || ++count % 5 > 0) return 'pass'
        return count % 2 ? 'cut-after' : 'cut-before'
      }
      const keys = Array.from({ length: 16 }, (_, caller) =>
        Array.from({ length: 6 }, (_, i) => ({ bucket: BUCKET, key: `${caller} ${i}` })),
      )
      await Promise.all(
        keys.map(async (own, caller) => {
          for (const at of own) {
            const scope = caller % 2 ? SCOPE : `scope ${caller}`
            const { id } = await store.reserve({ scope, ...at, declaredSize: 5, expiresAt: inAnHour() })
            expect(await store.confirm({ ...at, id, size: 5 })).toMatchObject({ attemptId: id })
          }
        }),
      )
      proxy.onCommand = () => 'pass'
      expect(await store.getScopeUsage(SCOPE)).toEqual({
        bytes: 8 * 6 * 5,
        files: 8 * 6,
        reservedBytes: 0,
        reservedFiles: 0,
      })
    })
    expect(await mongoAdapter(db).checkUsage()).toEqual([])
  }, 60_000)

  it('a leftover that was forgotten is told once, though the answer is lost', async () => {
    const plain = mongoAdapter(db)
    const at = { bucket: BUCKET, key: 'left' }
    await reserve(plain, at)
    const { id } = (await plain.release(at))!
    await throughProxy(async (own) => {
      const store = mongoAdapter(own)
      await store.getScopeUsage(SCOPE)
      trouble('commitTransaction', 'cut-after')
      expect(await store.forgetLeftover({ attemptId: id })).toBe(true)
      expect(await store.forgetLeftover({ attemptId: id })).toBe(false)
    })
  })

  describe('a server that stays silent', () => {
    const limited = (own: Db, limit: number) =>
      createStore(createMongoDriver({ place: openPlace(own, 'svc_db_'), limit }))

    it.each(['find', 'update', 'commitTransaction'])(
      'at %s: the call ends, and says that the outcome is unknown and a repeat is safe',
      async (statement) => {
        await throughProxy(async (own) => {
          const store = limited(own, 700)
          const id = createAttemptId()
          const input = {
            ...{ scope: SCOPE, bucket: BUCKET, key: `silent ${statement}`, id },
            ...{ declaredSize: 5, expiresAt: inAnHour() },
          }
          await store.getScopeUsage(SCOPE)
          trouble(statement, 'swallow', Infinity)
          const silent = store.reserve(input)
          await expect(silent).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
          await expect(silent).rejects.toThrow(/unknown.*repeat with the same id is safe/)
          proxy.onCommand = () => 'pass'
          expect(await mongoAdapter(own).reserve(input)).toMatchObject({ id })
          expect(await mongoAdapter(db).countByScope(SCOPE)).toBe(1)
        })
      },
    )

    it('holds the callers of its scope no longer than the limit, and no other scope at all', async () => {
      await throughProxy(async (own) => {
        const store = limited(own, 1500)
        await store.getScopeUsage(SCOPE)
        proxy.onCommand = (command) => {
          const text = JSON.stringify(command, (_, value: unknown) =>
            typeof value === 'bigint' ? '' : value,
          )
          return text.includes('hanging') ? 'swallow' : 'pass'
        }
        const hanging = Array.from({ length: 100 }, (_, i) => {
          const input = {
            scope: 'hanging',
            bucket: BUCKET,
            key: `hanging ${i}`,
            declaredSize: 1,
            expiresAt: inAnHour(),
          }
          return store.reserve(input).then(
            () => 'done',
            (error: { code: string }) => error.code,
          )
        })
        const others = ['a', 'b', 'c'].map((key) => reserve(store, { bucket: BUCKET, key }))
        await Promise.all(others)
        expect(new Set(await Promise.all(hanging))).toEqual(new Set(['DATABASE_UNAVAILABLE']))
        proxy.onCommand = () => 'pass'
        const again = {
          scope: 'hanging',
          bucket: BUCKET,
          key: 'again',
          declaredSize: 1,
          expiresAt: inAnHour(),
        }
        expect(await store.reserve(again)).toMatchObject({ key: 'again' })
      })
    })
  })

  it('no server: DATABASE_UNAVAILABLE as soon as the driver gives up, with the cause', async () => {
    const client = clientOf('mongodb://127.0.0.1:1/?directConnection=true', { serverSelectionTimeoutMS: 200 })
    const store = mongoAdapter(client.db('nowhere'))
    for (const call of [
      () => store.ping(),
      () => store.migrate(),
      () => store.verify(),
      () => store.getScopeUsage(SCOPE),
      () => reserve(store, { bucket: BUCKET, key: 'k' }),
    ]) {
      const error: unknown = await call().catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
      expect((error as Error).cause).toMatchObject({
        name: expect.stringMatching(/^Mongo(ServerSelection|TopologyClosed)Error$/) as string,
      })
    }
    await client.close()
  })

  it('a client that its application has closed: DATABASE_UNAVAILABLE at once', async () => {
    const client = clientOf(url)
    const store = mongoAdapter(client.db(db.databaseName))
    await store.getScopeUsage(SCOPE)
    await client.close()
    // The driver opens a closed client again; one whose pool is closed for good says so.
    await store
      .ping()
      .catch((error: unknown) => expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE' }))
    await client.close()
  })
})
