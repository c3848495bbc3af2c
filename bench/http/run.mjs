// Prints ratios: what a machine can do differs, how the library compares with a bare route does not.
// --check: exits with 1 where a bar is missed. --rounds=N: so many rounds of both routes; 0: none.
// --requests=N: another length of the run that samples the heap; 0: none.
// --framework=Express|Koa: only this one.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { postgresAdapter } from '../postgres/adapter.mjs'
import { startCluster } from '../postgres/cluster.mjs'
import { printTable } from '../ratio-table.mjs'
import { openReport } from '../report.mjs'
import { startChild } from './child.mjs'
import { sampleHeap } from './heap.mjs'
import { loadObjects, PAGE } from './one-scope.mjs'
import { servers } from './servers.mjs'
import { compareRoutes } from './throughput.mjs'

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '41' },
    requests: { type: 'string', default: '210000' },
    framework: { type: 'string' },
  },
})
const rounds = Number(values.rounds)
const requests = Number(values.requests)
const frameworks = values.framework ? [values.framework] : Object.keys(servers)
const areCounts = [rounds, requests].every((count) => Number.isSafeInteger(count) && count >= 0)
if (!areCounts || !frameworks.every((name) => name in servers)) {
  console.error(
    `--rounds and --requests take integers, --framework one of ${Object.keys(servers).join(', ')}.`,
  )
  process.exit(2)
}

const cluster = await startCluster()
const pool = new pg.Pool({ ...cluster.connection, max: 2 })
pool.on('error', () => {})
const store = postgresAdapter(pool)
await store.migrate()
await loadObjects(store)
await pool.query('VACUUM (ANALYZE) svc_db.objects, svc_db.scope_usage')
await pool.end()
const load = startChild('load-process.mjs')

console.log(`Node ${process.versions.node}, ${cpus().length} CPUs; PostgreSQL (${cluster.from}), server and load in processes of their own.

Method: a page of ${PAGE} objects behind a session, by the library and by a route that runs the same statement and answers
the same body. ${rounds} rounds of both in turn, on one server with one pool, over 16 connections that stay open. A time is
the median of the rounds, in microseconds of the server's processor time a request. The ratio is how many requests the
library serves in the time of one by the bare route; lowest and highest are those of single rounds. Rates is the ratio of
requests a second by the clock, which other work on the machine disturbs.
`)

const inWords = (number) => Math.round(number).toLocaleString('en')
const compared = []
for (const framework of rounds > 0 ? frameworks : []) {
  compared.push(await compareRoutes(framework, cluster.connection, load, rounds))
}
if (compared.length > 0)
  printTable('GET /db/objects', [
    ['', 'bare route', 'library', 'ratio', 'lowest', 'highest', 'bar', 'rates', ''],
    ...compared.map(({ framework, bare, library, ratio, lowest, highest, bar, rates, missed }) => [
      framework,
      ...[bare, library].map(inWords),
      ...[ratio, lowest, highest].map((number) => number.toFixed(2)),
      `>= ${bar}`,
      rates.toFixed(2),
      missed ? 'missed' : '',
    ]),
  ])

const heaps = []
for (const framework of requests > 0 ? frameworks : []) {
  heaps.push(await sampleHeap(framework, cluster.connection, load, requests))
}
if (heaps.length > 0) {
  printTable('Heap after a garbage collection, MiB: medians of the thirds of a run', [
    ['', 'requests', 'first', 'middle', 'last', 'highest', ''],
    ...heaps.map(({ framework, requests, thirds, highest, missed }) => [
      framework,
      inWords(requests),
      ...[...thirds, highest].map((number) => number.toFixed(2)),
      missed ? 'grows' : '',
    ]),
  ])
}

await load.stop()
await cluster.stop()
const report = openReport('http')
report.record(
  'GET /db/objects beside a bare route',
  compared.map(({ framework, ratio, bar, missed }) => ({
    name: framework,
    ratio,
    bar: { least: bar },
    missed,
  })),
)
report.record(
  'heap, the last third of a run beside the middle one',
  heaps.map(({ framework, thirds, missed }) => ({
    name: framework,
    ratio: thirds[2] / thirds[1],
    bar: {},
    missed,
  })),
)
report.close({ check: values.check, isRight: true })
