import { createAttemptId } from '@svc/db'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { BUCKET, CALLS, fillScope, makeCall, quota, reserve } from './counted-calls.js'
import { describeMongo, freshDatabase, type DriverVersion } from './databases.js'
import { watchedClient } from './watched-client.js'

/** Registers tests of the commands that each call sends. */
export function roundTripTests(driver: DriverVersion): void {
  describeMongo(`commands per call with driver ${driver}`, (url) => {
    const watched = watchedClient(url, {}, driver)
    const { client } = watched
    const take = () => watched.take()
    const db = freshDatabase(client)
    const store = mongoAdapter(db)
    beforeAll(async () => {
      await store.migrate()
      await fillScope(store)
    })
    afterAll(async () => {
      await db.dropDatabase()
      await client.close()
    })

    for (const counted of CALLS) {
      const { name, commands } = counted
      it(`${name}: ${commands.join(', ')}`, async () => {
        expect(await makeCall(store, counted, take)).toEqual(commands)
      })
    }

    it('confirm, without a scope, of an attempt of another process: 4 commands', async () => {
      const at = { bucket: BUCKET, key: createAttemptId() }
      await reserve(store, at)
      const other = mongoAdapter(db)
      await other.getScopeUsage('scope')
      take()
      await other.confirm({ ...at, size: 7, quota })
      expect(take().map(({ name }) => name)).toEqual(['find', 'find', 'update', 'commitTransaction'])
    })

    it('64 concurrent writes of one scope: those that wait for the first share 4 commands', async () => {
      const keys = Array.from({ length: 65 }, () => ({ bucket: BUCKET, key: createAttemptId() }))
      await store.getScopeUsage('scope')
      take()
      await Promise.all(keys.map((at) => reserve(store, at, { quota })))
      expect(take().map(({ name }) => name)).toEqual([
        ...['update', 'commitTransaction'],
        ...['find', 'update', 'insert', 'commitTransaction'],
      ])
      await store.ping()
      take()
      await Promise.all(keys.map((at) => store.confirm({ ...at, scope: 'scope', size: 5, quota })))
      expect(take().map(({ name }) => name)).toEqual([
        ...['find', 'update', 'commitTransaction'],
        ...['find', 'update', 'delete', 'insert', 'commitTransaction'],
      ])
    })
  })
}
