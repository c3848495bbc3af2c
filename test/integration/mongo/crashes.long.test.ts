import type { MongoClient } from 'mongodb'
import { afterEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import {
  installedMongod,
  startReplicaSet,
  type Member,
  type ReplicaSet,
  type ReplicaSetOptions,
} from '../../servers/mongod.js'
import { CRASH_CALLERS, CRASH_PROCESSES, expectNothingLost } from '../races/crash-test.js'
import { expectToSurviveOutage } from '../races/delivery-outage.js'
import { expectEveryEventDelivered, type EventTest } from '../races/event-test.js'
import { clientOf, emptyKeys } from './databases.js'

const DATABASE = 'crashes'
const EVENT_DATABASE = 'crashes_with_events'
/** Successful calls of each process between two failures of the server. */
const CALLS_BETWEEN = 40

const KILLS = 3
/** Successful calls of each process that changes objects and delivers events, before each kill. */
const EVENT_CALLS_BETWEEN = 80
/**
 * Seconds after which a member ends the transactions of a killed process. MongoDB's own 60 are longer than callers wait.
 * Every member needs the setting, because each may become the primary.
 */
const TRANSACTION_SECONDS = 3
const PRIMARY_KILLS = 2
const STEP_DOWNS = 6

const program = installedMongod()
const server = inject('mongodb')
const reason = server.url === null ? server.reason : 'tests must not kill that server; put a mongod on PATH'
if (program === null) console.warn(`Skipped: crashes of MongoDB. ${reason}`)

describe.skipIf(program === null)(
  `MongoDB crashes under ${CRASH_PROCESSES} processes with ${CRASH_CALLERS} connections each${program === null ? ` (${reason})` : ''}`,
  () => {
    let set: ReplicaSet | undefined
    let client: MongoClient | undefined
    afterEach(async () => {
      await client?.close()
      await set?.remove()
    })

    async function start(options: ReplicaSetOptions): Promise<{ set: ReplicaSet; client: MongoClient }> {
      set = await startReplicaSet(program!, options)
      client = clientOf(set.url)
      await mongoAdapter(client.db(DATABASE)).migrate()
      return { set, client }
    }

    /** Expects that no acknowledged write is lost, and that the adapter's retries hide every failure from callers. */
    async function expectNoErrors(
      { set, client }: { set: ReplicaSet; client: MongoClient },
      failures: readonly (() => Promise<void>)[],
    ): Promise<void> {
      const db = client.db(DATABASE)
      const { unavailable } = await expectNothingLost({
        connection: { kind: 'mongo', url: set.url, database: DATABASE },
        callsBetween: CALLS_BETWEEN,
        outages: failures,
        inspect: async (use) => use({ store: mongoAdapter(db), violations: await emptyKeys(db) }),
      })
      expect(unavailable).toEqual([])
    }

    /** Expects that events are delivered in order and never lost, while claimers and writers race. */
    async function expectEveryEvent(
      { set, client }: { set: ReplicaSet; client: MongoClient },
      interruptions: EventTest['interruptions'],
    ): Promise<void> {
      const db = client.db(EVENT_DATABASE)
      await mongoAdapter(db, { events: true }).migrate()
      const { unavailable } = await expectEveryEventDelivered({
        connection: { kind: 'mongo', url: set.url, database: EVENT_DATABASE },
        callsBetween: EVENT_CALLS_BETWEEN,
        interruptions,
        inspect: (use) =>
          use({ open: (now) => mongoAdapter(db, { now }), findViolations: () => emptyKeys(db) }),
      })
      expect(unavailable).toEqual([])
    }

    it(`callers get no error when it is killed and restarted (${KILLS} times), and events are delivered`, async () => {
      const started = await start({ members: 1 })
      const [only] = started.set.members
      const kill = () => only!.kill()
      const restart = () => only!.restart()
      await expectNoErrors(
        started,
        Array.from({ length: KILLS }, () => () => kill().then(restart)),
      )
      const impatient = clientOf(started.set.url, { serverSelectionTimeoutMS: 500 })
      onTestFinished(() => impatient.close())
      const store = mongoAdapter(impatient.db('delivery'), { events: true })
      await store.migrate()
      await expectToSurviveOutage({ store, kill, restart })
    })

    it(`callers get no error and no event is lost when the primary of three members steps down (${STEP_DOWNS} times) or is killed (${PRIMARY_KILLS} times)`, async () => {
      const started = await start({
        members: 3,
        electionTimeout: 2000,
        transactionSeconds: TRANSACTION_SECONDS,
      })
      const stepDown = async () => {
        const primary = await primaryOf(started.client)
        const admin = clientOf(memberAt(started.set, primary).url)
        // The response may be lost with the connection, or another election may be in progress.
        await admin
          .db('admin')
          .command({ replSetStepDown: 2, secondaryCatchUpPeriodSecs: 1, force: true })
          .catch(() => {})
        await admin.close()
        await untilOtherPrimary(started.client, primary)
      }
      const kill = async () => {
        const primary = await primaryOf(started.client)
        const member = memberAt(started.set, primary)
        await member.kill()
        await untilOtherPrimary(started.client, primary)
        await member.restart()
      }
      const failures = Array.from({ length: STEP_DOWNS + PRIMARY_KILLS }, (_, i) =>
        i % 4 === 1 ? kill : stepDown,
      )
      expect(failures.filter((failure) => failure === kill)).toHaveLength(PRIMARY_KILLS)
      await expectNoErrors(started, failures)
      await expectEveryEvent(started, [stepDown, kill, 'kill a worker', stepDown])
    })
  },
)

function memberAt({ members }: ReplicaSet, host: string): Member {
  return members.find(({ url }) => new URL(url).host === host)!
}

async function primaryOf(client: MongoClient): Promise<string> {
  for (;;) {
    try {
      const hello = await client.db('admin').command({ hello: 1 })
      if (hello['isWritablePrimary'] === true) return String(hello['me'])
    } catch {
      // There is no primary at the moment.
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Waits for another primary, up to 5 seconds: the same one may be elected again. */
async function untilOtherPrimary(client: MongoClient, before: string): Promise<void> {
  const deadline = Date.now() + 5000
  while ((await primaryOf(client)) === before && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
