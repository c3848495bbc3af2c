import type { MongoClient } from 'mongodb'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { installedMongod, startReplicaSet, type Member } from '../../servers/mongod.js'
import { expectNothingLost } from '../races/crash-test.js'
import type { Connection } from '../races/database.js'
import { expectEveryEventDelivered } from '../races/event-test.js'
import { clientOf, emptyKeys } from './databases.js'
import {
  cutting,
  cuttingOff,
  freezing,
  freezingProcess,
  killing,
  killingWriters,
  randomFaults,
  relayedHost,
  steppingDown,
  type Fault,
  type RelayedHost,
} from './faults.js'
import { routerReason, startCluster } from './sharded-databases.js'

/** How long faults go on: on a replica set, and on a sharded cluster. At night, all long runs are wanted. */
const MINUTES = Number(process.env['MONGODB_FAULT_MINUTES'] ?? (process.env['CI_LONG'] === '1' ? 20 : 4))
/** Successful calls of each process between two faults. */
const CALLS_BETWEEN = 20

// Beside the faults, servers start and recover, for which the runner's own limit is enough on its own.
vi.setConfig({ testTimeout: MINUTES * 60_000 + 900_000 })

const program = installedMongod()
const skipped = program === null ? ' (skipped: PATH has no mongod, and tests must not stop a shared one)' : ''

describe.skipIf(program === null)(`MongoDB under random faults for ${MINUTES} minutes${skipped}`, () => {
  const cleanups: (() => unknown)[] = []
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  async function relay(host: string): Promise<RelayedHost> {
    const relayed = await relayedHost(host)
    cleanups.push(() => relayed.close())
    return relayed
  }

  /** Expects results and documented errors, no lost write, and whole events, while faults go on for half of the time each. */
  async function expectToHold(
    url: string,
    client: MongoClient,
    faultsOf: (connection: Connection) => Readonly<Record<string, Fault>>,
  ): Promise<void> {
    const log: string[] = []
    const half = { minutes: MINUTES / 2, client, log }
    const open = async (database: string, events: boolean) => {
      const connection = { kind: 'mongo', url, database } as const
      const writers = killingWriters(connection)
      cleanups.push(() => writers.stop())
      const db = client.db(database)
      await mongoAdapter(db, { events }).migrate()
      return { connection, db, faults: { ...faultsOf(connection), 'kill -9 of a writer': writers.fault } }
    }
    try {
      const plain = await open('faults', false)
      const { unavailable } = await expectNothingLost({
        connection: plain.connection,
        callsBetween: CALLS_BETWEEN,
        outages: randomFaults(plain.faults, half),
        inspect: async (use) => use({ store: mongoAdapter(plain.db), violations: await emptyKeys(plain.db) }),
      })
      expect(await mongoAdapter(plain.db).verify()).toEqual([])
      console.log(`${unavailable.length} calls failed with DATABASE_UNAVAILABLE during ${log.length} faults.`)

      const eventful = await open('faults_with_events', true)
      await expectEveryEventDelivered({
        connection: eventful.connection,
        callsBetween: CALLS_BETWEEN,
        interruptions: randomFaults(eventful.faults, half),
        inspect: (use) =>
          use({
            open: (now) => mongoAdapter(eventful.db, { now }),
            findViolations: () => emptyKeys(eventful.db),
          }),
      })
    } catch (error) {
      throw new Error(`After ${log.join(', ')}`, { cause: error })
    }
  }

  it('on a replica set with its default time of an election', async () => {
    const hosts: RelayedHost[] = []
    const set = await startReplicaSet(program!, {
      members: 3,
      async advertise(host) {
        hosts.push(await relay(host))
        return hosts.at(-1)!.host
      },
    })
    cleanups.push(() => set.remove())
    // As docs/mongo.md opens it.
    const client = clientOf(set.url, { serverSelectionTimeoutMS: 5000 })
    cleanups.push(() => client.close())

    const indexOfPrimary = async () => {
      for (;;) {
        const hello = await client
          .db('admin')
          .command({ hello: 1 })
          .catch(() => null)
        const index = hosts.findIndex(({ host }) => host === hello?.['me'])
        if (index >= 0) return index
      }
    }
    const primary = async () => set.members[await indexOfPrimary()]!
    const others = async (): Promise<Member[]> => {
      const index = await indexOfPrimary()
      return set.members.filter((_, each) => each !== index)
    }
    await expectToHold(`${set.url}&serverSelectionTimeoutMS=5000`, client, () => ({
      'closed connections': cutting(hosts),
      'SIGSTOP of a process': freezingProcess(),
      'SIGSTOP of the primary': freezing(primary, [1, 15]),
      'SIGSTOP of a secondary': freezing(async () => (await others())[0]!, [1, 15]),
      'kill -9 of the primary': killing(async () => [await primary()], [0, 15]),
      'kill -9 of a secondary': killing(async () => [(await others())[1]!], [0, 10]),
      'no majority': killing(others, [0, 12]),
      'an unreachable primary': cuttingOff(async () => hosts[await indexOfPrimary()]!, [5, 15]),
      'a step-down': steppingDown(primary),
    }))
  })

  it.skipIf(routerReason !== '')(`through mongos${routerReason}`, async () => {
    const cluster = await startCluster()
    cleanups.push(() => cluster.remove())
    const router = await relay(new URL(cluster.url).host)
    const url = `mongodb://${router.host}/`
    const client = clientOf(url)
    cleanups.push(() => client.close())
    const shard = () => Promise.resolve(cluster.shards[Math.random() < 0.5 ? 0 : 1]!)
    await expectToHold(url, client, () => ({
      'closed connections': cutting([router]),
      'SIGSTOP of a process': freezingProcess(),
      'SIGSTOP of a shard': freezing(shard, [1, 15]),
      'kill -9 of a shard': killing(async () => [await shard()], [0, 5]),
      'an unreachable router': cuttingOff(() => Promise.resolve(router), [1, 10]),
    }))
  })
})
