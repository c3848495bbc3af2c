import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { installedMongod, startReplicaSet, type ReplicaSet } from '../../servers/mongod.js'
import { clientOf, DRIVERS, freshDatabase, type DriverVersion } from './databases.js'

const program = installedMongod()

describe.skipIf(program === null)(
  `a process that starts before its server${program === null ? ' (skipped: PATH has no mongod)' : ''}`,
  () => {
    let set: ReplicaSet
    let database: string
    beforeAll(async () => {
      set = await startReplicaSet(program!, { members: 1 })
      const client = clientOf(set.url)
      const db = freshDatabase(client)
      database = db.databaseName
      await mongoAdapter(db).migrate()
      await client.close()
    })
    afterAll(() => set.remove())

    it.each(Object.keys(DRIVERS).map(Number) as DriverVersion[])(
      'every call says why it fails, and works once the server is there, with driver %i',
      async (driver) => {
        const [server] = set.members
        await server!.kill()
        const client = clientOf(set.url, { serverSelectionTimeoutMS: 300 }, driver)
        onTestFinished(() => client.close())
        const store = mongoAdapter(client.db(database))
        const attempt = { scope: 'ann', bucket: 'files', declaredSize: 1, expiresAt: new Date('2100-01-01') }
        const calls = [
          () => store.getScopeUsage('ann'),
          () => store.reserve({ ...attempt, key: `driver ${driver}` }),
          () => store.ping(),
          () => store.migrate(),
          () => store.verify(),
        ]
        const noServer = {
          code: 'DATABASE_UNAVAILABLE',
          message: expect.stringMatching(/^No server of MongoDB responds: .*ECONNREFUSED/) as string,
          cause: { name: 'MongoServerSelectionError' },
          retryable: true,
        }
        for (const call of calls) await expect(call()).rejects.toMatchObject(noServer)
        for (const result of await Promise.allSettled(calls.map((call) => call()))) {
          expect(result).toMatchObject({ status: 'rejected', reason: noServer })
        }
        await server!.restart()
        for (const call of calls) await call()
        expect(await store.countByScope('ann')).toBeGreaterThan(0)
      },
    )
  },
)
