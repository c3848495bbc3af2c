import { mongoAdapter } from '@svc/db/mongo'
import type { Db } from 'mongodb'
import { afterAll, it } from 'vitest'
import { SCHEMA_VERSION } from '../../../src/adapters/mongo/schema/version.js'
import { changesOf, switchingBy, upgradeTests } from '../upgrade/describe-upgrade.js'
import { describeWithRelease } from '../upgrade/describe-with-release.js'
import { expectEvents } from '../upgrade/recorded-events.js'
import { expectSound, finishLoads, newKeys, passedOn, startLoads, untilCalls } from '../upgrade/scenario.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

describeWithRelease('a MongoDB database of release 1.5.5', () => {
  describeMongo('with processes of 1.5.5 that go on writing', (url) => {
    const client = clientOf(url)
    let db: Db
    afterAll(() => client.close())

    const database = {
      version: SCHEMA_VERSION,
      create() {
        db = freshDatabase(client)
        return { kind: 'mongo', url, database: db.databaseName } as const
      },
      drop: () => db.dropDatabase(),
      open: (options?: { readonly events?: boolean }) => mongoAdapter(db, options),
      recordsOldProcesses: false,
    }
    upgradeTests(database, (upgrade) => {
      it('records the changes of all processes once those of 1.5.5 have ended', async () => {
        const { old, recent, start } = upgrade()
        const oldLoads = startLoads([...old, start('1.5.5'), start('1.5.5')], newKeys(4))
        await untilCalls(oldLoads)
        await recent[0].call('migrate')
        await untilCalls(oldLoads)
        const before = await finishLoads(oldLoads)
        const switching = await switchingBy(() => database.open({ events: true }).migrate())
        // A process that is running learns of it within a minute, so these begin now.
        const loads = startLoads(
          Array.from({ length: 4 }, () => start('2.0')),
          passedOn(before),
        )
        await untilCalls(loads)
        const reports = await finishLoads(loads)
        await expectSound([recent[0], old[0]])
        await expectEvents(database.open(), changesOf([...before, ...reports]), switching)
      })
    })
  })
})
