import { fileURLToPath } from 'node:url'
import { mongoAdapter } from '@svc/db/mongo'
import type { Db } from 'mongodb'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { SCHEMA_VERSION } from '../../../src/adapters/mongo/schema/version.js'
import { bundleWorker, type BundledWorker } from '../races/bundled-worker.js'
import type { Version } from '../upgrade/load.js'
import { describeWithRelease } from '../upgrade/describe-with-release.js'
import { startProcess, type UpgradeProcess } from '../upgrade/processes.js'
import { expectEvents } from '../upgrade/recorded-events.js'
import { releasedSource, type ReleasedSource } from '../upgrade/released-source.js'
import {
  expectSound,
  finishLoads,
  loadRows,
  longestPause,
  newKeys,
  passedOn,
  startLoads,
  untilCalls,
} from '../upgrade/scenario.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

const ENTRY = fileURLToPath(new URL('./upgrade-process.ts', import.meta.url))

describeWithRelease('a MongoDB database of release 1.5.5', () => {
  describeMongo('with processes of 1.5.5 that go on writing', (url) => {
    const client = clientOf(url)
    let released: ReleasedSource
    let programs: Record<Version, BundledWorker>
    let db: Db
    let processes: UpgradeProcess[]
    let old: UpgradeProcess[]
    let recent: UpgradeProcess[]
    beforeAll(async () => {
      released = releasedSource()
      programs = { '1.5.5': await released.bundle(ENTRY), '1.6': await bundleWorker(ENTRY) }
    })
    beforeEach(async () => {
      db = freshDatabase(client)
      processes = []
      old = [start('1.5.5'), start('1.5.5')]
      recent = [start('1.6'), start('1.6')]
      await old[0]!.call('migrate')
      await loadRows(old[0]!)
    })
    afterEach(async () => {
      await Promise.all(processes.map((process) => process.close()))
      await db.dropDatabase()
    })
    afterAll(async () => {
      programs['1.5.5'].remove()
      programs['1.6'].remove()
      released.remove()
      await client.close()
    })

    function start(version: Version): UpgradeProcess {
      const process = startProcess(programs[version].file, version, { url, database: db.databaseName })
      processes.push(process)
      return process
    }

    it('is upgraded by several processes, and can go back and forward again', async () => {
      const keys = newKeys(4)
      const oldLoads = startLoads(old, keys)
      await untilCalls(oldLoads)
      const migrations = await Promise.all(
        [...recent, start('1.6')].map((process) => process.call('migrate')),
      )
      expect(migrations.map(({ to }) => to)).toEqual(migrations.map(() => SCHEMA_VERSION))
      expect(migrations.filter(({ from }) => from === 1)).not.toHaveLength(0)
      await untilCalls(oldLoads)

      const loads = [...oldLoads, ...startLoads(recent, keys.slice(2))]
      await untilCalls(loads)
      const upgraded = await finishLoads(loads)
      await expectSound([old[0]!, recent[0]!])

      const backLoads = startLoads([...old, start('1.5.5'), start('1.5.5')], passedOn(upgraded))
      await untilCalls(backLoads)
      const back = await finishLoads(backLoads)
      await expectSound([old[0]!, recent[0]!])

      const againLoads = startLoads([...recent, ...old], passedOn(back))
      await untilCalls(againLoads)
      const again = await finishLoads(againLoads)
      await expectSound([recent[0]!, old[0]!])
      expect(await mongoAdapter(db).countEvents()).toEqual({ waiting: 0, claimed: 0, retrying: 0 })
      console.info(
        `Longest call on MongoDB: ${longestPause(upgraded)} ms while it was upgraded, ${longestPause([...back, ...again])} ms afterwards`,
      )
    })

    it('records the changes of all processes once those of 1.5.5 have ended', async () => {
      const keys = newKeys(4)
      const oldLoads = startLoads([...old, start('1.5.5'), start('1.5.5')], keys)
      await untilCalls(oldLoads)
      await recent[0]!.call('migrate')
      await untilCalls(oldLoads)
      const before = await finishLoads(oldLoads)

      const begin = Date.now()
      const store = mongoAdapter(db, { events: true })
      await store.migrate()
      const switching = { begin, end: Date.now() }
      // A process that is running learns of it within a minute, so these begin now.
      const loads = startLoads(
        Array.from({ length: 4 }, () => start('1.6')),
        passedOn(before),
      )
      await untilCalls(loads)
      const reports = await finishLoads(loads)
      await expectSound([recent[0]!, old[0]!])
      await expectEvents(
        store,
        [...before, ...reports].flatMap(({ changes }) => changes),
        switching,
      )
    })
  })
})
