import type { S3Client } from '@aws-sdk/client-s3'
import { createS3Server, db, runJobs } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { s3Storage } from '@svc/db/s3'
import { expect, it, onTestFinished } from 'vitest'
import { HOUR, ManualClock, SECOND } from '../../conformance/clock.js'
import { around, beginAndPut, Caller } from '../../unit/server/service.js'
import { until } from '../../until.js'
import { outageProxy } from '../drivers/outage-proxy.js'
import { bucketOfTest, clientOf, describeS3, keysIn } from '../s3/s3-server.js'
import { describePostgres, poolOf, schemaOfEachTest } from './schemas.js'

const PROCESSES = 3
const EACH = 20
const OWNER = 'user:1'
const WEEK = 7 * 24 * HOUR

/** Connections that are cut in one outage end with several messages. */
function reasonOf(error: unknown): string {
  const { cause } = error as Error
  return cause === undefined ? String(error) : reasonOf(cause)
}

describePostgres('runJobs in several processes', (url) => {
  const pool = poolOf(url)
  let schema: string
  schemaOfEachTest(pool, async (name) => {
    schema = name
    await postgresAdapter(pool, { schema, events: true }).migrate()
  })

  describeS3('whose database and bucket go away', (server) => {
    const direct = clientOf(server)

    /** A server with separate connections, like another process. Numbers its runs of `cleanUp`. */
    function startProcess(database: string, client: S3Client, bucket: string, clock: ManualClock) {
      const { now } = clock
      const own = poolOf(database)
      const store = postgresAdapter(own, { schema, events: true, now })
      const activated: string[] = []
      const reported: { operation: string; run: number; reason: string }[] = []
      let runs = 0
      around(store, 'listExpired', (list) => (input) => {
        if (!input?.after) runs++
        return list(input)
      })
      const s3 = createS3Server({
        storage: s3Storage({ client, now }),
        bucket,
        download: { expiresIn: WEEK / SECOND },
        plugins: [db({ client: store, resolveScope: () => OWNER })],
        onEvent: ({ type, object }) => void (type === 'activated' && activated.push(object.attemptId)),
        onError: (error, { operation }) =>
          void reported.push({ operation, run: runs, reason: reasonOf(error) }),
        now,
      })
      onTestFinished(() => own.end())
      const reports = (of: string) => reported.filter(({ operation }) => operation === of).length
      const ofCleanUp = () => reported.filter(({ operation }) => operation === 'cleanUp')
      return { s3, store, activated, reports, ofCleanUp }
    }

    it('reports each reason once a run, repeats what failed and loses nothing', async () => {
      const bucket = await bucketOfTest(direct)
      const clock = new ManualClock()
      const database = await outageProxy(url)
      const service = await outageProxy(server.endpoint)
      onTestFinished(async () => {
        await database.close()
        await service.close()
      })
      const client = clientOf({ ...server, endpoint: service.url }, { maxAttempts: 1 })
      const processes = Array.from({ length: PROCESSES }, () =>
        startProcess(database.url, client, bucket, clock),
      )
      const [{ s3, store }] = processes as [(typeof processes)[number]]
      const ann = new Caller(s3.handler, OWNER)

      // Uploads whose tab was closed, and uploads without bytes.
      const finished: string[] = []
      for (let number = 0; number < EACH; number++) {
        finished.push((await beginAndPut(ann)).object.id)
        await ann.begun()
      }
      await s3.close()

      const stopping = new AbortController()
      clock.advance(48 * HOUR)
      database.leave()
      const jobs = processes.map((process) =>
        runJobs(process.s3, {
          ...{ signal: stopping.signal, cleanUpEverySeconds: 0.05, deliverEvents: { pollSeconds: 0.05 } },
        }),
      )
      const inEach = (count: (process: (typeof processes)[number]) => number) => processes.map(count)
      const failedIn = (operation: string, times: number) => () =>
        inEach(({ reports }) => reports(operation)).every((reports) => reports >= times)
      // Two failed runs, so it was repeated while the database was away.
      await until(failedIn('cleanUp', 2))
      await until(failedIn('deliverEvents', 1))
      expect(inEach(({ reports }) => reports('deliverEvents'))).toEqual(Array(PROCESSES).fill(1))
      database.comeBack()

      // Away again, in the middle of the work.
      await until(async () => (await store.countByScope(OWNER, 'active').catch(() => 0)) >= 3)
      database.leave()
      database.comeBack()
      const events = () => new Set(processes.flatMap(({ activated }) => activated))
      await until(() => {
        // A claim of events whose response was lost has to end first.
        clock.advance(SECOND)
        return events().size === EACH
      })

      // The uploads without bytes have been released. The bucket is away when their leftovers are due, a week later.
      await until(async () => (await store.countByScope(OWNER, 'pending').catch(() => 1)) === 0)
      const before = inEach(({ reports }) => reports('cleanUp'))
      service.leave()
      clock.advance(2 * WEEK)
      await until(() =>
        inEach(({ reports }) => reports('cleanUp')).some((reports, index) => reports > before[index]!),
      )
      expect(await store.listLeftovers()).toHaveLength(EACH)
      service.comeBack()
      await until(async () => {
        // A look that failed is repeated after an hour, and a run later.
        clock.advance(HOUR)
        return (await store.listLeftovers()).length === 0
      })
      stopping.abort()
      await Promise.all(jobs)

      for (const { ofCleanUp } of processes) {
        const reports = ofCleanUp().map(({ run, reason }) => `${run}: ${reason}`)
        expect(reports).toEqual([...new Set(reports)])
      }
      expect([...events()].sort()).toEqual(finished.sort())
      const { objects } = await store.listByScope({ scope: OWNER, limit: 1000 })
      expect(objects.map(({ attemptId, status }) => [attemptId, status])).toEqual(
        finished.toReversed().map((id) => [id, 'active']),
      )
      expect((await keysIn(direct, bucket)).sort()).toEqual(
        objects.map(({ storageKey }) => storageKey).sort(),
      )
      expect(await store.checkUsage()).toEqual([])
    })
  })
})
