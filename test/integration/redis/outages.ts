import { afterAll, beforeAll, expect, it } from 'vitest'
import { startRedis, type PrivateRedis } from '../../servers/redis.js'
import type { DatabaseTests } from './describe-over.js'
import { startLoad, type LoadProcesses } from './load-processes.js'
import { openDatabase } from './loaded-database.js'
import { clientOf, freshPrefix } from './redis-servers.js'
import { LOADED_SCOPES } from './usage-load.js'

const PROCESSES = 4
const CALLERS = 4
const TTL_SECONDS = 1

/** Registers tests of processes that share a database, and a Redis that fails in every way. */
export const outageTests =
  (program: string): DatabaseTests =>
  (location, drop) => {
    const { store: database, close } = openDatabase(location, CALLERS)
    let redis: PrivateRedis
    let client: ReturnType<typeof clientOf>
    let load: LoadProcesses | undefined
    beforeAll(async () => {
      await database.migrate()
      redis = await startRedis(program)
      client = clientOf(redis.url)
      load = await startLoad(PROCESSES, {
        ...{ callers: CALLERS, database: location, redis: redis.url, prefix: freshPrefix() },
        ...{ ttlSeconds: TTL_SECONDS, isReliable: false },
      })
    })
    afterAll(async () => {
      load?.stop()
      client.disconnect()
      await redis.stop()
      await close()
      await drop()
    })

    /** Expects that every process reads and writes, whatever the state of Redis. */
    async function expectProgress(): Promise<void> {
      await load!.untilMore('writes', 3)
      await load!.untilMore('reads', 40)
    }
    const untilUsed = () => load!.untilMore('hits', 20)

    it('continue without a Redis that is killed, report it, and use it again after its restart', async () => {
      await untilUsed()
      await redis.kill()
      await load!.untilMore('errors', 1)
      await expectProgress()
      await redis.restart()
      await untilUsed()
    })

    it('continue without a Redis that hangs, report it, and use it again when it responds', async () => {
      await redis.halt()
      await load!.untilMore('errors', 1)
      await expectProgress()
      await redis.resume()
      await untilUsed()
    })

    it('refill a Redis that is flushed', async () => {
      for (let time = 0; time < 5; time++) {
        await client.flushall()
        await load!.untilMore('reads', 10)
      }
      await untilUsed()
    })

    it('continue without a Redis that is out of memory, report it, and use it again', async () => {
      await client.config('SET', 'maxmemory', '1')
      await client.flushall()
      await load!.untilMore('errors', 1)
      await expectProgress()
      await client.config('SET', 'maxmemory', '0')
      await untilUsed()
    })

    // The copy contains the marks of the writes in progress. Until they expire after two minutes, the usages of their scopes
    // are not cached, so this doesn't wait until the processes use Redis again.
    it('continue with a Redis that is restored from old data', async () => {
      await untilUsed()
      await redis.backUp()
      await load!.untilMore('writes', 1)
      await redis.killAndRestore()
      await redis.restart()
      await expectProgress()
    })

    it('see no error during all of that, and no usage that is older than the lifetime', async () => {
      await load!.untilMore('refused', 1)
      const reports = await load!.finish()
      expect(reports.flatMap(({ faults }) => faults)).toEqual([])
      const full = await database.getScopeUsage('load: a full one')
      expect(full.files).toBe(LOADED_SCOPES['load: a full one'])
      expect(await database.checkUsage()).toEqual([])
    })
  }
