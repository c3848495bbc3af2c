import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { startPrivateCluster } from '../../servers/private-cluster.js'
import { CRASH_PROCESSES, expectNothingLost } from '../races/crash-test.js'
import { expectToSurviveOutage } from '../races/delivery-outage.js'
import { EVENT_PROCESSES, expectEveryEventDelivered } from '../races/event-test.js'
import { keysOfTwoScopes, numberOfDeadlocks } from './race-violations.js'
import { describePrivatePostgres, freshSchema, poolOf } from './schemas.js'

const KILLS = 6
/** Calls that each process must complete between a start and the next kill. */
const CALLS_BETWEEN = 250

const EVENT_KILLS = 2
/** Successful calls of each process that changes objects and delivers events, before each kill. */
const EVENT_CALLS_BETWEEN = 150

describePrivatePostgres('while the server is killed and restarted, processes', (programs) => {
  let server: Awaited<ReturnType<typeof startPrivateCluster>>
  beforeAll(async () => {
    // Postgres then finds every cycle of waits, also one that a timeout would break.
    server = await startPrivateCluster(programs, ['deadlock_timeout=10ms'])
  })
  afterAll(() => server.remove())

  async function migrated(events: boolean) {
    const schema = freshSchema()
    const { url } = server.cluster
    const pool = poolOf(url)
    await postgresAdapter(pool, { schema, events }).migrate()
    await pool.end()
    return { kind: 'postgres', url, schema } as const
  }
  async function crash(): Promise<void> {
    await server.cluster.kill()
    await server.cluster.restart()
  }
  /** Uses a new pool, because the connections of an older one may be broken. */
  async function withPool<T>(use: (pool: ReturnType<typeof poolOf>) => Promise<T>): Promise<T> {
    const pool = poolOf(server.cluster.url)
    return use(pool).finally(() => pool.end())
  }
  const expectNoDeadlock = async () => expect(await withPool(numberOfDeadlocks)).toBe(0)

  it(`lose no acknowledged write and exceed no quota (${KILLS} kills)`, async () => {
    const connection = await migrated(false)
    const { schema } = connection
    const { unavailable } = await expectNothingLost({
      connection,
      callsBetween: CALLS_BETWEEN,
      outages: Array.from({ length: KILLS }, () => crash),
      inspect: (use) =>
        withPool(async (pool) =>
          use({
            store: postgresAdapter(pool, { schema }),
            violations: await keysOfTwoScopes(pool, schema),
          }),
        ),
    })
    // Otherwise the kills hit an idle server.
    expect(unavailable.length).toBeGreaterThan(KILLS * CRASH_PROCESSES)
  })

  it(`lose no event, also if one of them is killed (${EVENT_KILLS} kills each)`, async () => {
    const connection = await migrated(true)
    const { schema } = connection
    const kill = async () => {
      // A crash resets the counter.
      await expectNoDeadlock()
      await crash()
    }
    const { unavailable } = await expectEveryEventDelivered({
      connection,
      callsBetween: EVENT_CALLS_BETWEEN,
      interruptions: Array.from({ length: EVENT_KILLS }, () => [kill, 'kill a worker'] as const).flat(),
      inspect: (use) =>
        withPool((pool) =>
          use({
            open: (now) => postgresAdapter(pool, { schema, now }),
            findViolations: () => keysOfTwoScopes(pool, schema),
          }),
        ),
    })
    expect(unavailable.length).toBeGreaterThan(EVENT_KILLS * EVENT_PROCESSES)
    await expectNoDeadlock()
  })

  it('go on delivering events where they were', async () => {
    const { schema } = await migrated(true)
    await withPool((pool) =>
      expectToSurviveOutage({
        store: postgresAdapter(pool, { schema }),
        kill: () => server.cluster.kill(),
        restart: () => server.cluster.restart(),
      }),
    )
  })
})
