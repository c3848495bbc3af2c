// Compares events and requests of this build with those of another one, such as of an earlier commit:
//   node bench/other-build.mjs --base=../before    after `npm run build` in both folders
// Prints ratios, because they carry over between machines and times do not.
// --check: exit with 1 if a ratio misses its bar. --rounds=N: rounds of both builds. --events=N: events that wait.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import express from 'express'
import pg from 'pg'
import { compare } from './compare.mjs'
import { startCluster } from './postgres/cluster.mjs'
import { createEventQueue } from './postgres/event-queue.mjs'
import { openReport } from './report.mjs'
import { compareCosts, timed } from './servers/compare-costs.mjs'
import { upload } from './servers/store-calls.mjs'

const { fetch, URLSearchParams } = globalThis
const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    check: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '301' },
    events: { type: 'string', default: '100000' },
  },
})
const [rounds, waiting] = [Number(values.rounds), Number(values.events)]
if (!values.base || ![rounds, waiting].every((count) => Number.isSafeInteger(count) && count > 0)) {
  console.error('--base must be the folder of another build, and --rounds and --events integers above 0.')
  process.exit(2)
}

const BAR = { most: 1.05 }
const CLAIMED = 100
const DELIVERED = 400
const LISTED = 50
const builds = {
  base: await importBuild(values.base),
  subject: await importBuild(join(import.meta.dirname, '..')),
}
const report = openReport('other build')
const add = (title, results) => report.add(title, ['other build', 'this build'], results)

async function importBuild(folder) {
  const from = (entry) => import(pathToFileURL(resolve(folder, 'dist', `${entry}.js`)).href)
  const [main, memory, postgres, binding] = await Promise.all(
    ['index', 'memory', 'postgres', 'express'].map(from),
  )
  return { ...main, ...memory, ...postgres, ...binding }
}

async function ofBoth(create) {
  return { base: await create(builds.base, 'base'), subject: await create(builds.subject, 'subject') }
}

/** Claims and settles first events, and retries. */
async function compareQueues(pool) {
  const queues = await ofBoth((build, side) =>
    createEventQueue(pool, `bench_${side}`, waiting, build.postgresAdapter),
  )
  const claimAndSettle = (queue, attempted) => async () => {
    const { store, add: addMore } = queue
    const claim = await timed(() => store.claimEvents({ limit: CLAIMED, attempted }))
    if (claim.result.length !== CLAIMED)
      throw new Error(`Claimed ${claim.result.length} events of ${CLAIMED}.`)
    const retryAt = attempted ? new Date() : undefined
    const settle = await timed(() =>
      store.settleEvents(claim.result.map(({ id, claim: token }) => ({ id, claim: token, retryAt }))),
    )
    if (!attempted) await addMore(CLAIMED)
    return { claim: claim.microseconds, settle: settle.microseconds }
  }
  const compareKind = (kind, attempted) =>
    compareCosts({
      base: claimAndSettle(queues.base, attempted),
      subject: claimAndSettle(queues.subject, attempted),
      bars: { claim: BAR, settle: BAR },
      names: { claim: `claimEvents of ${CLAIMED} ${kind}`, settle: `settleEvents of these` },
      rounds,
    })
  add(`Postgres, ${waiting} events waiting`, await compareKind('first events', false))
  for (const { store } of Object.values(queues)) {
    const retryAt = new Date()
    for (let made = 0; made < 10 * CLAIMED; made += CLAIMED) {
      const claimed = await store.claimEvents({ limit: CLAIMED, attempted: false })
      await store.settleEvents(claimed.map(({ id, claim }) => ({ id, claim, retryAt })))
    }
  }
  add(`Postgres, ${10 * CLAIMED} retries among them`, await compareKind('retries', true))
  for (const { remove } of Object.values(queues)) await remove()
}

/** Delivers events to an empty handler by the job. Recording them isn't timed. */
async function compareDelivery(title, createStore) {
  const sides = await ofBoth(async (build, side) => {
    const store = await createStore(build, side)
    let owners = 0
    return async () => {
      for (let made = 0; made < DELIVERED; made++) await upload(store, `user:${owners++ % 20}`)
      const { result, microseconds } = await timed(() => build.deliverEvents(store, { onEvent() {} }))
      if (result.delivered !== DELIVERED) throw new Error(`Delivered ${result.delivered} of ${DELIVERED}.`)
      return { delivery: microseconds / DELIVERED }
    }
  })
  const names = { delivery: 'an event through deliverEvents with an empty handler' }
  add(title, await compareCosts({ ...sides, bars: { delivery: BAR }, names, rounds: Math.ceil(rounds / 10) }))
}

/** Requests through Express, with everything in memory: the processor time of client and server together. */
async function compareRequests() {
  const apps = await ofBoth(async (build) => {
    const client = build.memoryAdapter()
    const resolveScope = ({ headers }) => headers.get('x-user')
    const s3 = build.createS3Server({
      storage: build.memoryStorage(),
      bucket: 'files',
      plugins: [build.db({ client, resolveScope })],
    })
    const server = createServer(express().use(build.expressBinding(s3))).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${server.address().port}/api/s3`
    async function call(method, path, sent) {
      const headers = { 'x-user': 'user:1', ...(sent && { 'content-type': 'application/json' }) }
      const response = await fetch(url + path, { method, headers, body: sent && JSON.stringify(sent) })
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
      return response.status === 204 ? response.arrayBuffer() : response.json()
    }
    async function store() {
      const sent = { filename: 'a.txt', contentType: 'text/plain', size: 5 }
      const { object, upload: put } = await call('POST', '/upload', sent)
      const { status } = await fetch(put.url, { method: put.method, headers: put.headers, body: 'hello' })
      if (status !== 200) throw new Error(`PUT: ${status}`)
      const { key, id } = object
      await call('POST', '/upload/confirm', { key, id })
      return key
    }
    const reference = (key) => `?${new URLSearchParams({ key })}`
    for (let made = 0; made < LISTED; made++) await store()
    const key = await store()
    return {
      close: () => server.close(),
      list: () => call('GET', `/db/objects?limit=${LISTED}`),
      async cycle() {
        await call('DELETE', `/object${reference(await store())}`)
      },
      async download() {
        const { url: signed } = await call('GET', `/download${reference(key)}`)
        await (await fetch(signed)).arrayBuffer()
      },
    }
  })
  const names = {
    list: `GET /db/objects, a page of ${LISTED}`,
    cycle: 'POST /upload, PUT, POST /upload/confirm, DELETE /object',
    download: 'GET /download, and the bytes',
  }
  const results = []
  for (const [name, title] of Object.entries(names)) {
    const side = (app) => ({
      async run(calls) {
        for (let done = 0; done < calls; done++) await app[name]()
      },
    })
    results.push(
      await compare({ name: title, base: side(apps.base), subject: side(apps.subject), bar: BAR, rounds }),
    )
  }
  for (const { close } of Object.values(apps)) close()
  add('Through Express', results)
}

const cluster = await startCluster()
const pool = new pg.Pool({ ...cluster.connection, max: 1 })
pool.on('error', () => {})
console.log(`Node ${process.versions.node}; PostgreSQL (${cluster.from}). Both builds run in this process, in ${rounds} alternating rounds.
Times are medians in microseconds: of processor time for requests, and otherwise of the time that a caller waits.
`)
await compareQueues(pool)
await compareDelivery(`deliverEvents on Postgres, ${DELIVERED} events of 20 owners`, async (build, side) => {
  const store = build.postgresAdapter(pool, { schema: `bench_delivery_${side}`, events: true })
  await store.migrate()
  return store
})
await compareDelivery(`deliverEvents in memory, ${DELIVERED} events of 20 owners`, (build) =>
  build.memoryAdapter({ events: true }),
)
await compareRequests()
await pool.end()
await cluster.stop()
report.close({ check: values.check, isCorrect: true })
