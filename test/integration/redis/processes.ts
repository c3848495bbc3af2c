import { afterAll, beforeAll, expect, it } from 'vitest'
import type { DatabaseTests } from './describe-over.js'
import { startLoad, type LoadProcesses } from './load-processes.js'
import { openDatabase } from './loaded-database.js'
import { freshPrefix } from './redis-servers.js'
import { LOADED_SCOPES } from './usage-load.js'

const PROCESSES = 4
const CALLERS = 4

/** Registers tests of processes that share this Redis and a database. */
export const processTests =
  (redis: string): DatabaseTests =>
  (location, drop) => {
    const { store: database, close } = openDatabase(location, CALLERS)
    let load: LoadProcesses | undefined
    beforeAll(() => database.migrate())
    afterAll(async () => {
      load?.stop()
      await close()
      await drop()
    })

    it('never return a usage older than a write of any of them, and never exceed a quota', async () => {
      load = await startLoad(PROCESSES, {
        ...{ callers: CALLERS, database: location, redis, prefix: freshPrefix() },
        ...{ ttlSeconds: 60, isReliable: true },
      })
      await load.untilMore('writes', 30)
      await load.untilMore('hits', 150)
      await load.untilMore('refused', 1)
      const reports = await load.finish()

      expect(reports.flatMap(({ faults }) => faults)).toEqual([])
      expect(reports.map(({ stale }) => stale)).toEqual([0, 0, 0, 0])
      expect(await database.getScopeUsage('load: a full one')).toMatchObject({
        files: LOADED_SCOPES['load: a full one'],
      })
      expect(await database.checkUsage()).toEqual([])
    })
  }
