// Measures what failures of MongoDB cost callers: the longest call, and how many failed. Prints seconds, because most of them are
// time limits of the server and of the adapter. `node bench/mongo/failures.mjs primary` measures only failures with this word.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { MongoClient } from 'mongodb'
import { mongoAdapter } from '@svc/db/mongo'
import { importSource } from '../own-source.mjs'

const { installedMongod, onServer, startReplicaSet } = await importSource('test/servers/mongod.ts')

const SECOND = 1000
const SCOPE = 'hot'
const CALLERS = 8
/** Times that a process is killed or frozen. Not each time one of its transactions is open. */
const PROCESSES = 5

if (process.send) await callUntilKilled()
else await measureAll()

async function measureAll() {
  const set = await startReplicaSet(installedMongod(), { members: 3 })
  const client = openClient(set.url)
  const store = mongoAdapter(client.db('failures'))
  await store.migrate()
  const { version } = await client.db('admin').command({ buildInfo: 1 })
  console.log(
    `MongoDB ${version}, three members with default settings; Node ${process.versions.node}, ${cpus().length} CPUs.\n`,
  )
  const member = async (isPrimary) => {
    const { me } = await client.db('admin').command({ hello: 1 })
    return set.members.filter(({ url }) => (new URL(url).host === me) === isPrimary)
  }
  const failures = {
    'nothing, for comparison': () => pause(5),
    'a step-down': async () => {
      const [primary] = await member(true)
      const command = { replSetStepDown: 10, secondaryCatchUpPeriodSecs: 10 }
      await onServer(primary.url, (admin) => admin.db('admin').command(command)).catch(() => {})
    },
    'kill -9 of the primary': async () => {
      const [primary] = await member(true)
      await primary.kill()
      await pause(20)
      await primary.restart()
    },
    'SIGSTOP of the primary for 30 s': async () => {
      const [primary] = await member(true)
      process.kill(primary.pid, 'SIGSTOP')
      await pause(30)
      process.kill(primary.pid, 'SIGCONT')
    },
    'kill -9 of a secondary': async () => {
      const [secondary] = await member(false)
      await secondary.kill()
      await pause(5)
      await secondary.restart()
    },
    'kill -9 of processes within transactions': () => interruptProcesses(set.url, 'SIGKILL'),
    'SIGSTOP of processes within transactions': () => interruptProcesses(set.url, 'SIGSTOP'),
    'no majority for 60 s': async () => {
      const others = await member(false)
      for (const other of others) await other.kill()
      await pause(60)
      for (const other of others) await other.restart()
    },
  }
  try {
    const [, , wanted = ''] = process.argv
    for (const [name, fail] of Object.entries(failures)) {
      if (!name.includes(wanted)) continue
      const { longest, failed, calls } = await measure(store, fail)
      console.log(`${name}: longest call ${longest.toFixed(1)} s, ${failed} of ${calls} calls failed`)
    }
  } finally {
    await client.close()
    await set.remove()
  }
}

/** Calls the store all the time, and returns what the calls took and how many failed. */
async function measure(store, fail) {
  const result = { longest: 0, failed: 0, calls: 0 }
  let isOver = false
  const callers = Array.from({ length: CALLERS }, async (_, caller) => {
    for (let i = 0; !isOver; i++) {
      const start = performance.now()
      await write(store, `${caller} ${start}`).catch(() => result.failed++)
      result.calls++
      result.longest = Math.max(result.longest, (performance.now() - start) / SECOND)
    }
  })
  await pause(2)
  await fail()
  await pause(2)
  isOver = true
  await Promise.all(callers)
  return result
}

async function write(store, key) {
  const at = { scope: SCOPE, bucket: 'files', key }
  await store.reserve({ ...at, declaredSize: 1, expiresAt: new Date(Date.now() + 3600 * SECOND) })
  await store.release(at)
}

async function interruptProcesses(url, signal) {
  for (let i = 0; i < PROCESSES; i++) {
    const child = fork(new URL(import.meta.url).pathname, { env: { ...process.env, MONGODB_URL: url } })
    await once(child, 'message')
    await pause(Math.random())
    child.kill(signal)
    await pause(10)
    child.kill('SIGKILL')
    child.kill('SIGCONT')
  }
}

async function callUntilKilled() {
  const store = mongoAdapter(openClient(process.env.MONGODB_URL).db('failures'))
  await store.ping()
  process.send('ready')
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      for (let i = 0; ; i++) await write(store, `${process.pid} ${caller} ${i}`).catch(() => {})
    }),
  )
}

/** As docs/mongo.md opens it. */
function openClient(url) {
  return new MongoClient(url, { serverSelectionTimeoutMS: 5000 })
}

function pause(seconds) {
  return new Promise((resolve) => setTimeout(resolve, seconds * SECOND))
}
