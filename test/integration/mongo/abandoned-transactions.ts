import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { installedMongod, startReplicaSet, type ReplicaSet } from '../../servers/mongod.js'
import { bundleWorker, type BundledWorker } from '../races/bundled-worker.js'
import { clientOf, freshDatabase, type DriverVersion } from './databases.js'
import type { SingleWrite } from './single-writer.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const EXPIRES = new Date('2100-01-01')

const program = installedMongod()
const reason = program === null ? ' (skipped: PATH has no mongod, and the shared one has a lower limit)' : ''

/** As {@link abandonedTransactionTests}, on a replica set of the tests' own. */
export function abandonedTransactionTestsOnSet(driver: DriverVersion): void {
  describe.skipIf(program === null)(
    `a transaction of a process that no longer acts, with driver ${driver}${reason}`,
    () => {
      let set: ReplicaSet
      beforeAll(async () => {
        // With MongoDB's own limit of 60 s, which is longer than a call waits.
        set = await startReplicaSet(program!, { members: 1, durable: false })
      })
      afterAll(() => set.remove())
      abandonedTransactionTests(() => set.url, driver)
    },
  )
}

/** Registers tests of a process that dies or freezes within a transaction, which the server would end after a minute. */
export function abandonedTransactionTests(url: () => string, driver: DriverVersion = 7): void {
  let worker: BundledWorker
  let client: MongoClient
  beforeAll(async () => {
    const writer = fileURLToPath(new URL('./single-writer.ts', import.meta.url))
    worker = await bundleWorker(writer, driver === 6 ? { mongodb: 'mongodb6' } : {})
    client = clientOf(url(), {}, driver)
  })
  afterAll(async () => {
    worker.remove()
    await client.close()
  })

  /** Lets another process reserve a key in the scope, and ends or stops it before it commits. */
  async function interruptedBy(signal: 'SIGKILL' | 'SIGSTOP', write: Omit<SingleWrite, 'url'>) {
    const proxy = await wireProxy(url())
    const child = fork(worker.file)
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await proxy.close()
    })
    await new Promise<void>((resolve) => {
      proxy.onCommand = (command) => {
        if (!('commitTransaction' in command)) return 'pass'
        proxy.onCommand = () => 'pass'
        child.kill(signal)
        resolve()
        return 'hold'
      }
      child.send({ ...write, url: proxy.url } satisfies SingleWrite)
    })
    return { child, proxy }
  }

  it.each(['SIGKILL', 'SIGSTOP'] as const)('others go on after %s', async (signal) => {
    const db = freshDatabase(client)
    const store = mongoAdapter(db)
    await store.migrate()
    const at = { scope: 'ann', bucket: 'files' }
    await store.reserve({ ...at, key: 'before', declaredSize: 1, expiresAt: EXPIRES })

    // A transaction of the application, which may wait for as long as it wants.
    const notes = db.collection<{ _id: string }>('notes')
    await notes.insertOne({ _id: 'a' })
    const own = client.startSession()
    onTestFinished(() => own.endSession())
    own.startTransaction()
    await notes.deleteOne({ _id: 'a' }, { session: own })

    const interrupted = await interruptedBy(signal, { database: db.databaseName, scope: 'ann' })
    const writes = ['a', 'b'].map((key) => store.reserve({ ...at, key, declaredSize: 1, expiresAt: EXPIRES }))
    await Promise.all(writes)
    await own.commitTransaction()
    expect(await notes.countDocuments()).toBe(0)

    const late = signal === 'SIGSTOP' ? await continued(interrupted) : null
    expect(await store.findPending({ bucket: 'files', key: 'of the other process' })).toEqual(
      late === null ? null : expect.objectContaining({ id: late }),
    )
    expect(await store.countByScope('ann')).toBe(late === null ? 3 : 4)
    expect(await store.checkUsage()).toEqual([])
  })
}

/** Lets a stopped process go on with its commit, and returns the id of its row. */
async function continued({ child, proxy }: { child: ChildProcess; proxy: WireProxy }): Promise<string> {
  const responded = once(child, 'message') as Promise<[string]>
  proxy.release()
  child.kill('SIGCONT')
  const [id] = await responded
  return id
}
