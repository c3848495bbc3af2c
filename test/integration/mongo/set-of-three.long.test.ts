import { StorageError } from '@svc/db'
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openNamespace } from '../../../src/adapters/mongo/connection/namespace.js'
import { createMongoDriver } from '../../../src/adapters/mongo/driver.js'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { createStore } from '../../../src/core/store/create-store.js'
import {
  installedMongod,
  onServer,
  startReplicaSet,
  type Member,
  type ReplicaSet,
} from '../../servers/mongod.js'
import { until } from '../../until.js'
import { clientOf, freshDatabase } from './databases.js'

const program = installedMongod()
const at = { scope: 'ann', bucket: 'files' }
const attempt = (key: string) => ({ ...at, key, declaredSize: 1, expiresAt: new Date('2100-01-01') })

describe.skipIf(program === null)(
  `a replica set of three members${program === null ? ' (skipped: PATH has no mongod)' : ''}`,
  () => {
    let set: ReplicaSet
    let client: MongoClient
    beforeAll(async () => {
      set = await startReplicaSet(program!, { members: 3, durable: false, failPoints: true })
      client = new MongoClient(set.url)
    })
    afterAll(async () => {
      await client.close()
      await set.remove()
    })

    async function secondaries(): Promise<Member[]> {
      const isSecondary = await Promise.all(
        set.members.map(({ url }) =>
          onServer(
            url,
            async (member) => (await member.db('admin').command({ hello: 1 }))['secondary'] === true,
          ),
        ),
      )
      return set.members.filter((_, index) => isSecondary[index])
    }

    /** Opens a store whose calls take no longer than this, in milliseconds. */
    function storeWithin(timeout: number, database: string, from = client) {
      return createStore(
        createMongoDriver({ namespace: openNamespace(from.db(database), 'svc_db_'), timeout }),
      )
    }

    it('a direct connection to a secondary is refused by every call but ping(), and named by verify()', async () => {
      const db = freshDatabase(client)
      await mongoAdapter(db).migrate()
      const [secondary] = await secondaries()
      const direct = clientOf(secondary!.url)
      onTestFinished(() => direct.close())
      const store = mongoAdapter(direct.db(db.databaseName))
      const sentence = expect.stringMatching(
        /^The client is connected to a secondary \(.*\) by directConnection; the primary is /,
      ) as string
      await store.ping()
      expect(await store.verify()).toEqual([sentence])
      for (const call of [
        () => store.reserve(attempt('a')),
        () => store.getScopeUsage('ann'),
        () => store.find({ bucket: 'files', key: 'a' }),
        () => store.migrate(),
      ]) {
        await expect(call()).rejects.toMatchObject({
          code: 'DATABASE_UNAVAILABLE',
          message: sentence,
          retryable: false,
        })
      }
    })

    it('a direct connection to a primary that steps down says so at the next write', async () => {
      const db = freshDatabase(client)
      await mongoAdapter(db).migrate()
      const primary = await primaryOf(client)
      const direct = clientOf(`mongodb://${primary}/?directConnection=true`)
      onTestFinished(() => direct.close())
      const store = mongoAdapter(direct.db(db.databaseName))
      await store.reserve(attempt('a'))
      await direct
        .db('admin')
        .command({ replSetStepDown: 60, secondaryCatchUpPeriodSecs: 30 })
        .catch(() => {})
      await until(async () => (await primaryOf(client)) !== primary)
      await expect(store.reserve(attempt('b'))).rejects.toThrow(/connected to a secondary/)
      expect(await mongoAdapter(db).countByScope('ann')).toBe(1)
    })

    it('migrate() ends if no majority can confirm its writes', async () => {
      const others = await secondaries()
      const halt = (mode: 'alwaysOn' | 'off') =>
        Promise.all(
          others.map(({ url }) =>
            onServer(url, (member) =>
              member.db('admin').command({ configureFailPoint: 'stopReplProducer', mode }),
            ),
          ),
        )
      await halt('alwaysOn')
      try {
        const store = storeWithin(3000, freshDatabase(client).databaseName)
        await expect(store.migrate()).rejects.toMatchObject({
          code: 'DATABASE_UNAVAILABLE',
          message: expect.stringContaining('too few members are left for a majority') as string,
          retryable: true,
        })
      } finally {
        await halt('off')
      }
    })

    it('without a primary, calls wait longer than the driver does, and then say why', async () => {
      const db = freshDatabase(client)
      await mongoAdapter(db).migrate()
      const impatient = clientOf(set.url, { serverSelectionTimeoutMS: 500 })
      onTestFinished(() => impatient.close())
      const store = mongoAdapter(impatient.db(db.databaseName))
      await store.reserve(attempt('before'))
      const [first, second] = await secondaries()
      await first!.kill()
      await second!.kill()
      // A primary that sees no majority steps down.
      const [last] = set.members.filter((member) => member !== first && member !== second)
      await until(() =>
        onServer(
          last!.url,
          async (member) => (await member.db('admin').command({ hello: 1 }))['secondary'] === true,
        ),
      )
      const givenUp = storeWithin(3000, db.databaseName, impatient).reserve(attempt('given up'))
      const failure: unknown = await givenUp.catch((reason: unknown) => reason)
      expect(failure).toBeInstanceOf(StorageError)
      expect(failure).toMatchObject({
        message: expect.stringMatching(
          /^The replica set has no primary; 1 of 3 members respond\..*unknown/,
        ) as string,
        cause: { name: 'MongoServerSelectionError' },
        retryable: true,
      })
      const waiting = [store.reserve(attempt('after')), store.getScopeUsage('ann'), store.ping()]
      await first!.restart()
      await second!.restart()
      await Promise.all(waiting)
      expect(await store.checkUsage()).toEqual([])
    })
  },
)

async function primaryOf(client: MongoClient): Promise<string> {
  const { me } = await client.db('admin').command({ hello: 1 })
  return String(me)
}
