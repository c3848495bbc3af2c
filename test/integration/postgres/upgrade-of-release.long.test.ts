import { fileURLToPath } from 'node:url'
import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { SCHEMA } from '../../../src/adapters/postgres/sql/schema.js'
import { bundleWorker, type BundledWorker } from '../races/bundled-worker.js'
import type { LoadReport, Version } from '../upgrade/load.js'
import { describeWithRelease } from '../upgrade/describe-with-release.js'
import { startProcess, type UpgradeProcess } from '../upgrade/processes.js'
import { expectEvents, type Switching } from '../upgrade/recorded-events.js'
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
import { describeOwnDatabase, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

const ENTRY = fileURLToPath(new URL('./upgrade-process.ts', import.meta.url))

describeWithRelease('a Postgres database of release 1.5.5', () => {
  describeOwnDatabase('with processes of 1.5.5 that go on writing', (url) => {
    const pool = poolOf(url)
    let released: ReleasedSource
    let programs: Record<Version, BundledWorker>
    let schema: string
    let processes: UpgradeProcess[]
    let old: UpgradeProcess[]
    let recent: UpgradeProcess[]
    beforeAll(async () => {
      released = releasedSource()
      programs = { '1.5.5': await released.bundle(ENTRY), '1.6': await bundleWorker(ENTRY) }
    })
    beforeEach(async () => {
      schema = freshSchema()
      processes = []
      old = [start('1.5.5'), start('1.5.5')]
      recent = [start('1.6'), start('1.6')]
      await old[0]!.call('migrate')
      await loadRows(old[0]!)
    })
    afterEach(async () => {
      await Promise.all(processes.map((process) => process.close()))
      await dropSchema(pool, schema)
    })
    afterAll(async () => {
      programs['1.5.5'].remove()
      programs['1.6'].remove()
      released.remove()
      await pool.end()
    })

    function start(version: Version): UpgradeProcess {
      const process = startProcess(programs[version].file, version, { url, schema })
      processes.push(process)
      return process
    }

    const store = () => postgresAdapter(pool, { schema })
    const changesOf = (reports: readonly LoadReport[]) => reports.flatMap(({ changes }) => changes)

    it('is upgraded by several processes, records changes of both versions, and can go back', async () => {
      const keys = newKeys(4)
      const oldLoads = startLoads(old, keys)
      await untilCalls(oldLoads)
      const migrations = await Promise.all(
        [...recent, start('1.6')].map((process) => process.call('migrate')),
      )
      expect(migrations.map(({ to }) => to)).toEqual(migrations.map(() => SCHEMA.version))
      expect(migrations.filter(({ from }) => from === 1)).not.toHaveLength(0)
      await untilCalls(oldLoads)

      const loads = [...oldLoads, ...startLoads(recent, keys.slice(2))]
      await untilCalls(loads)
      const switching = await turnOnEvents()
      await untilCalls(loads)
      const upgraded = await finishLoads(loads)
      for (const { changes } of upgraded) {
        expect(changes.filter(({ begin }) => begin > switching.end)).not.toHaveLength(0)
      }
      await expectSound([old[0]!, recent[0]!])
      await expectEvents(store(), changesOf(upgraded), switching)

      const backLoads = startLoads([...old, start('1.5.5'), start('1.5.5')], passedOn(upgraded))
      await untilCalls(backLoads)
      const back = await finishLoads(backLoads)
      await expectSound([old[0]!, recent[0]!])

      const againLoads = startLoads([...recent, ...old], passedOn(back))
      await untilCalls(againLoads)
      const again = await finishLoads(againLoads)
      await expectSound([recent[0]!, old[0]!])
      await expectEvents(store(), changesOf([...upgraded, ...back, ...again]), switching)
      console.info(`Longest call while Postgres was upgraded: ${longestPause(upgraded)} ms`)
    })

    async function turnOnEvents(): Promise<Switching> {
      const begin = Date.now()
      await postgresAdapter(pool, { schema, events: true }).migrate()
      return { begin, end: Date.now() }
    }

    it('is upgraded by postgresSchema() in one transaction of another tool, with events', async () => {
      const keys = newKeys(4)
      const loads = startLoads(old, keys)
      await untilCalls(loads)
      const begin = Date.now()
      const tool = await pool.connect()
      await tool.query('BEGIN')
      await tool.query(postgresSchema({ schema, events: true }))
      await tool.query('COMMIT')
      tool.release()
      const switching = { begin, end: Date.now() }
      await untilCalls(loads)
      const all = [...loads, ...startLoads(recent, keys.slice(2))]
      await untilCalls(all)
      const reports = await finishLoads(all)
      await expectSound([recent[0]!, old[0]!])
      await expectEvents(store(), changesOf(reports), switching)
      const { rows } = await pool.query(`SELECT version FROM ${quoted(schema)}.schema_version`)
      expect(rows).toEqual([{ version: SCHEMA.version }])
      console.info(`Longest call while postgresSchema() ran on Postgres: ${longestPause(reports)} ms`)
    })
  })
})
