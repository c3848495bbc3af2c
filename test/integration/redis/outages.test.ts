import { afterAll, beforeAll, expect, it } from 'vitest'
import { startRedis, type PrivateRedis } from '../../servers/redis.js'
import { describeEachDatabase } from './databases.js'
import { startLoad, type LoadProcesses } from './load-processes.js'
import { openDatabase } from './loaded-database.js'
import { clientOf, describePrivateRedis, freshPrefix } from './servers.js'
import { LOADED_SCOPES } from './usage-load.js'

const PROCESSES = 4
const CALLERS = 4
const TTL_SECONDS = 1
const TIMEOUT = 120_000

describePrivateRedis('4 processes whose Redis', (program) => {
  describeEachDatabase('fails them, over', (place, drop) => {
    const { store: database, close } = openDatabase(place, CALLERS)
    let redis: PrivateRedis
    let client: ReturnType<typeof clientOf>
    let load: LoadProcesses | undefined
    beforeAll(async () => {
      await database.migrate()
      redis = await startRedis(program)
      client = clientOf(redis.url)
      load = await startLoad(PROCESSES, {
        ...{ callers: CALLERS, database: place, redis: redis.url, prefix: freshPrefix() },
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

    /** Everybody reads and writes, whatever Redis does. */
    async function goOn(): Promise<void> {
      await load!.untilMore('writes', 3)
      await load!.untilMore('answers', 40)
    }
    const isUsed = () => load!.untilMore('hits', 20)

    it('is killed go on, are told, and use it again when it is back', { timeout: TIMEOUT }, async () => {
      await isUsed()
      await redis.kill()
      await load!.untilMore('told', 1)
      await goOn()
      await redis.restart()
      await isUsed()
    })

    it('hangs do the same', { timeout: TIMEOUT }, async () => {
      await redis.halt()
      await load!.untilMore('told', 1)
      await goOn()
      await redis.resume()
      await isUsed()
    })

    it('is emptied fill it again', { timeout: TIMEOUT }, async () => {
      for (let time = 0; time < 5; time++) {
        await client.flushall()
        await load!.untilMore('answers', 10)
      }
      await isUsed()
    })

    it('is out of memory go on, are told, and use it again', { timeout: TIMEOUT }, async () => {
      await client.config('SET', 'maxmemory', '1')
      await client.flushall()
      await load!.untilMore('told', 1)
      await goOn()
      await client.config('SET', 'maxmemory', '0')
      await isUsed()
    })

    it(
      'is restored from old data believe it for no longer than it may be believed',
      { timeout: TIMEOUT },
      async () => {
        await isUsed()
        await redis.backUp()
        await load!.untilMore('writes', 1)
        await redis.killAndRestore()
        await redis.restart()
        await goOn()
        await isUsed()
      },
    )

    it(
      'did all of that have seen no error, and nothing older than the lifetime',
      { timeout: TIMEOUT },
      async () => {
        const reports = await load!.finish()
        expect(reports.flatMap(({ faults }) => faults)).toEqual([])
        const full = await database.getScopeUsage('load: a full one')
        expect(full.files).toBe(LOADED_SCOPES['load: a full one'])
        expect(await database.checkUsage()).toEqual([])
      },
    )
  })
})
