import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { startPrivateCluster } from '../../servers/private-cluster.js'
import { CRASH_CALLERS, CRASH_PROCESSES, expectNothingLost } from '../races/crash-test.js'
import { EVENT_CALLERS, EVENT_PROCESSES, expectEveryEventDelivered } from '../races/event-test.js'
import { keysOfTwoScopes, numberOfDeadlocks } from './race-violations.js'
import { describePrivatePostgres, freshSchema, poolOf } from './schemas.js'

const KILLS = 6
/** Calls that each process must complete between a start and the next kill. */
const CALLS_BETWEEN = 250

const EVENT_KILLS = 2
/** Successful calls of each process that changes objects and delivers events, before each kill. */
const EVENT_CALLS_BETWEEN = 150

const title = `${CRASH_PROCESSES} processes with ${CRASH_CALLERS} connections each, while the server is killed ${KILLS} times`

describePrivatePostgres(title, (programs) => {
  const schema = freshSchema()
  let server: Awaited<ReturnType<typeof startPrivateCluster>>
  beforeAll(async () => {
    server = await startPrivateCluster(programs)
  })
  afterAll(() => server.remove())

  it('lose no acknowledged write and exceed no quota', async () => {
    const { cluster } = server
    const pool = poolOf(cluster.url)
    await postgresAdapter(pool, { schema }).migrate()
    await pool.end()

    const { unavailable } = await expectNothingLost({
      connection: { kind: 'postgres', url: cluster.url, schema },
      callsBetween: CALLS_BETWEEN,
      outages: Array.from({ length: KILLS }, () => async () => {
        await cluster.kill()
        await cluster.restart()
      }),
      async inspect(use) {
        // Uses a new pool, because the connections of an older one may be broken.
        const pool = poolOf(cluster.url, { max: 8 })
        const violations = await keysOfTwoScopes(pool, schema)
        await use({ store: postgresAdapter(pool, { schema }), violations })
        await pool.end()
      },
    })
    // Otherwise the kills hit an idle server.
    expect(unavailable).toBeGreaterThan(KILLS * CRASH_PROCESSES)
  })
})

const eventTitle = `${EVENT_PROCESSES} processes with ${EVENT_CALLERS} connections each, which change objects and deliver events`

describePrivatePostgres(eventTitle, (programs) => {
  const schema = freshSchema()
  let server: Awaited<ReturnType<typeof startPrivateCluster>>
  beforeAll(async () => {
    server = await startPrivateCluster(programs)
  })
  afterAll(() => server.remove())

  it(`lose no event while the server and a process are killed ${EVENT_KILLS} times each`, async () => {
    const { cluster } = server
    const pool = poolOf(cluster.url)
    await postgresAdapter(pool, { schema, events: true }).migrate()
    await pool.end()

    const kill = async () => {
      // A crash resets the counter.
      await expectNoDeadlock(cluster.url)
      await cluster.kill()
      await cluster.restart()
    }
    const { unavailable } = await expectEveryEventDelivered({
      connection: { kind: 'postgres', url: cluster.url, schema },
      callsBetween: EVENT_CALLS_BETWEEN,
      interruptions: Array.from({ length: EVENT_KILLS }, () => [kill, 'kill a worker'] as const).flat(),
      async inspect(use) {
        const pool = poolOf(cluster.url, { max: 8 })
        await use({
          open: (now) => postgresAdapter(pool, { schema, now }),
          findViolations: () => keysOfTwoScopes(pool, schema),
        })
        await pool.end()
      },
    })
    expect(unavailable.length).toBeGreaterThan(EVENT_KILLS * EVENT_PROCESSES)
    await expectNoDeadlock(cluster.url)
  })
})

async function expectNoDeadlock(url: string): Promise<void> {
  const pool = poolOf(url)
  expect(await numberOfDeadlocks(pool)).toBe(0)
  await pool.end()
}
