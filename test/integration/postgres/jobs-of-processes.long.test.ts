import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createS3Server, db, runJobs, type CleanUpResult, type JobRun, type ObjectStorage } from '@svc/db'
import { diskStorage } from '@svc/db/disk'
import { postgresAdapter } from '@svc/db/postgres'
import { afterAll, expect, it } from 'vitest'
import { HOUR, ManualClock } from '../../conformance/clock.js'
import { beginAndPut, Caller } from '../../unit/server/service.js'
import { until } from '../../until.js'
import { describePostgres, poolOf, schemaOfEachTest } from './schemas.js'

const PROCESSES = 3
const EACH = 40

describePostgres('runJobs in several processes', (url) => {
  const pool = poolOf(url)
  const directory = mkdtempSync(join(tmpdir(), 'svc-db-jobs-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  let schema: string
  schemaOfEachTest(pool, async (name) => {
    schema = name
    await postgresAdapter(pool, { schema, events: true }).migrate()
  })

  it('does nothing twice: hooks, events, looks at leftovers and counts of all processes together', async () => {
    const clock = new ManualClock()
    const { now } = clock
    const hooked: string[] = []
    const handled: string[] = []
    const errors: unknown[] = []
    let looks: string[] = []
    const disk = diskStorage({ directory, now })
    const storage: ObjectStorage = {
      ...disk,
      head: (at) => (looks.push(at.key), disk.head(at)),
    }

    /** A server with its own pool, like another process. */
    function startProcess() {
      const own = poolOf(url)
      const client = postgresAdapter(own, { schema, events: true, now })
      const s3 = createS3Server({
        storage,
        bucket: 'files',
        plugins: [
          db({
            client,
            resolveScope: () => 'user:1',
            hooks: { onActivated: ({ object }) => void hooked.push(object.attemptId) },
          }),
        ],
        onEvent: ({ type, object }) => void handled.push(`${type} ${object.attemptId}`),
        onError: (error) => void errors.push(error),
        now,
      })
      return { s3, client, end: () => own.end() }
    }
    const processes = Array.from({ length: PROCESSES }, startProcess)
    const [{ s3, client }] = processes as [ReturnType<typeof startProcess>]
    const ann = new Caller(s3.handler, 'user:1')

    // Uploads whose tab was closed, uploads without bytes, and files that were deleted.
    for (let number = 0; number < EACH; number++) {
      await beginAndPut(ann)
      await ann.begun()
    }
    const deleted: string[] = []
    for (let number = 0; number < EACH; number++) deleted.push((await ann.upload()).key)
    for (const key of deleted) await ann.delete(key)
    await s3.close()
    hooked.length = 0

    const runs: JobRun[] = []
    /** Runs the jobs of all processes until this holds. */
    async function runUntil(isDone: () => Promise<boolean>): Promise<void> {
      clock.advance(48 * HOUR)
      const stopping = new AbortController()
      const running = processes.map((process) =>
        runJobs(process.s3, {
          ...{ signal: stopping.signal, cleanUpEverySeconds: 0.05, purgeDeletedAfterSeconds: 3600 },
          deliverEvents: { pollSeconds: 0.05 },
          onRun: (run) => void runs.push(run),
        }),
      )
      await until(isDone)
      stopping.abort()
      await Promise.all(running)
    }
    const hasNoEvent = async () => {
      const { waiting, claimed, retrying } = await client.countEvents()
      return waiting + claimed + retrying === 0
    }
    await runUntil(async () => hooked.length >= EACH && (await hasNoEvent()))
    looks = []
    // What was released in the first round has become a leftover, whose time comes in the second one.
    await runUntil(async () => (await client.listLeftovers()).length === 0)

    expect(errors).toEqual([])
    expect(looks).toHaveLength(2 * EACH)
    expect(new Set(looks).size).toBe(2 * EACH)
    expect(hooked).toHaveLength(EACH)
    expect(new Set(hooked).size).toBe(EACH)
    expect(handled.filter((event) => event.startsWith('activated'))).toHaveLength(2 * EACH)
    expect(new Set(handled).size).toBe(handled.length)
    const sum = (count: (result: CleanUpResult) => number) =>
      runs.reduce((total, run) => total + (run.job === 'cleanUp' ? count(run.result) : 0), 0)
    expect(sum(({ reservations }) => reservations.released)).toBe(EACH)
    expect(sum(({ reservations }) => reservations.failed)).toBe(0)
    expect(runs.reduce((total, run) => total + (run.job === 'purgeDeleted' ? run.result : 0), 0)).toBe(EACH)
    expect(await client.countByScope('user:1')).toBe(EACH)
    expect(await client.checkUsage()).toEqual([])
    await Promise.all(processes.map(({ end }) => end()))
  })
})
