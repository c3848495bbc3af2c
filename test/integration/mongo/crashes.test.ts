import { fileURLToPath } from 'node:url'
import type { MongoClient } from 'mongodb'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import {
  installedMongod,
  startReplicaSet,
  type Member,
  type ReplicaSet,
  type ReplicaSetOptions,
} from '../../servers/mongod.js'
import { CRASH_CALLERS, CRASH_PROCESSES, expectNothingLost } from '../races/crash-test.js'
import { clientOf, emptyKeys } from './places.js'

const DATABASE = 'crashes'
/** Calls that succeed in each process between two strikes. */
const CALLS_BETWEEN = 40
const TIMEOUT = 240_000

const program = installedMongod()
const server = inject('mongodb')
const reason = server.url === null ? server.reason : 'tests may not kill that server; put a mongod on PATH'
if (program === null) console.warn(`Skipped: MongoDB that is killed. ${reason}`)

describe.skipIf(program === null)(
  `a server that fails under ${CRASH_PROCESSES} processes with ${CRASH_CALLERS} connections each${program === null ? ` (${reason})` : ''}`,
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

    /** Nothing is lost, and no caller gets an error that a repeat would have spared. */
    async function expectNobodyNotices(
      { set, client }: { set: ReplicaSet; client: MongoClient },
      strikes: readonly (() => Promise<void>)[],
    ): Promise<void> {
      const db = client.db(DATABASE)
      const { unanswered } = await expectNothingLost({
        entry: fileURLToPath(new URL('./crash-place.ts', import.meta.url)),
        place: { url: set.url, database: DATABASE },
        callsBetween: CALLS_BETWEEN,
        strikes,
        look: async (use) => use({ store: mongoAdapter(db), wrongs: await emptyKeys(db) }),
      })
      expect(unanswered).toBe(0)
    }

    it('10 times killed and started again: nobody notices', { timeout: TIMEOUT }, async () => {
      const started = await start({ members: 1 })
      const [only] = started.set.members
      const kill = async () => {
        await only!.kill()
        await only!.restart()
      }
      await expectNobodyNotices(
        started,
        Array.from({ length: 10 }, () => kill),
      )
    })

    it(
      'a primary that steps down 10 times and is killed 3 times, of three members: nobody notices',
      { timeout: TIMEOUT },
      async () => {
        const started = await start({ members: 3, electionTimeout: 2000 })
        const stepDown = async () => {
          const primary = await primaryOf(started.client)
          const admin = clientOf(memberAt(started.set, primary).url)
          // The connection may break with the answer, or another election may just be under way.
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
        const strikes = Array.from({ length: 13 }, (_, i) => (i % 4 === 3 ? kill : stepDown))
        expect(strikes.filter((strike) => strike === kill)).toHaveLength(3)
        await expectNobodyNotices(started, strikes)
      },
    )
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
      // Between two primaries.
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Any, since the same one may be elected again. */
async function untilOtherPrimary(client: MongoClient, before: string): Promise<void> {
  const deadline = Date.now() + 5000
  while ((await primaryOf(client)) === before && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
