// Compares the bindings with a bare route. Prints ratios, because they carry over between machines and times do not.
// --check: exit with 1 if a bar is missed. --rounds=N: rounds of both routes, 0 for none.
// --requests=N: requests of the run that samples the heap, 0 for none.
// --framework=Express|Koa: only this framework.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { startCluster } from '../postgres/cluster.mjs'
import { printTable } from '../ratio-table.mjs'
import { openReport } from '../report.mjs'
import { startChild } from './child-process.mjs'
import { sampleHeap } from './heap.mjs'
import { loadObjects, PAGE } from './listed-scope.mjs'
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
    `--rounds and --requests must be integers of 0 or more, and --framework one of ${Object.keys(servers).join(', ')}.`,
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

console.log(`Node ${process.versions.node}, ${cpus().length} CPUs; PostgreSQL (${cluster.from}); server and load run in separate processes.

Method: both routes return the same page of ${PAGE} objects behind a session, from the same statement. They run in ${rounds}
alternating rounds on one server with one pool, over 16 open connections. Times are medians of the rounds, in microseconds
of the server's CPU time per request. The ratio is the number of requests that the library serves in the time of one by the
bare route. Lowest and highest are ratios of single rounds. Rates is the ratio of requests per second of wall-clock time,
which other load on the machine affects.
`)

const withSeparators = (number) => Math.round(number).toLocaleString('en')
const compared = []
for (const framework of rounds > 0 ? frameworks : []) {
  compared.push(await compareRoutes(framework, cluster.connection, load, rounds))
}
if (compared.length > 0)
  printTable('GET /db/objects', [
    ['', 'bare route', 'library', 'ratio', 'lowest', 'highest', 'bar', 'rates', ''],
    ...compared.map(({ framework, bare, library, ratio, lowest, highest, bar, rates, missed }) => [
      framework,
      ...[bare, library].map(withSeparators),
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
  printTable('Heap after a garbage collection in MiB, median of each third of the run', [
    ['', 'requests', 'first', 'middle', 'last', 'highest', ''],
    ...heaps.map(({ framework, requests, thirds, highest, missed }) => [
      framework,
      withSeparators(requests),
      ...[...thirds, highest].map((number) => number.toFixed(2)),
      missed ? 'grows' : '',
    ]),
  ])
}

await load.stop()
await cluster.stop()
const report = openReport('http')
report.record(
  'GET /db/objects compared with a bare route',
  compared.map(({ framework, ratio, bar, missed }) => ({
    name: framework,
    ratio,
    bar: { least: bar },
    missed,
  })),
)
report.record(
  'heap, last third of a run compared with the middle third',
  heaps.map(({ framework, thirds, missed }) => ({
    name: framework,
    ratio: thirds[2] / thirds[1],
    bar: {},
    missed,
  })),
)
report.close({ check: values.check, isCorrect: true })
