// Compares the bindings with a bare route. Prints ratios, because they carry over between machines and times do not.
// --check: exit with 1 if a bar is missed. --rounds=N: rounds of both routes, 0 for none.
// --requests=N: requests of the run that samples the heap, 0 for none.
// --framework=Express|Koa|Fastify|Hono: only this framework. --scenario='POST /upload': only the scenario of this name.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { startCluster } from '../postgres/cluster.mjs'
import { printTable } from '../ratio-table.mjs'
import { openReport } from '../report.mjs'
import { CONNECTIONS, startChild } from './child-process.mjs'
import { startGateway } from './gateway.mjs'
import { sampleHeap } from './heap.mjs'
import { loadObjects, PAGE } from './listed-scope.mjs'
import { scenarios } from './scenarios.mjs'
import { servers } from './servers.mjs'
import { compareRoutes } from './throughput.mjs'

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '41' },
    requests: { type: 'string', default: '105000' },
    framework: { type: 'string' },
    scenario: { type: 'string' },
  },
})
const rounds = Number(values.rounds)
const requests = Number(values.requests)
const frameworks = values.framework ? [values.framework] : Object.keys(servers)
const wanted = scenarios.filter(({ name }) => (values.scenario ?? name) === name)
const areCounts = [rounds, requests].every((count) => Number.isSafeInteger(count) && count >= 0)
if (!areCounts || !frameworks.every((name) => name in servers)) {
  console.error(
    `--rounds and --requests must be integers of 0 or more, and --framework one of ${Object.keys(servers).join(', ')}.`,
  )
  process.exit(2)
}
if (wanted.length === 0) {
  console.error(`--scenario must be one of: ${scenarios.map(({ name }) => name).join('; ')}.`)
  process.exit(2)
}

const cluster = await startCluster()
const pool = new pg.Pool({ ...cluster.connection, max: 4 })
pool.on('error', () => {})
const store = postgresAdapter(pool)
await store.migrate()
await loadObjects(store)
await pool.query('VACUUM (ANALYZE) svc_db.objects, svc_db.scope_usage')
const load = startChild('load-process.mjs')
const needsGateway = rounds > 0 && wanted.some(({ usesBucket }) => usesBucket)
const gateway = needsGateway ? await startGateway() : null
const available = wanted.filter(({ usesBucket }) => gateway !== null || !usesBucket)

console.log(`Node ${process.versions.node}, ${cpus().length} CPUs; PostgreSQL (${cluster.from})${gateway ? ', S3 (radosgw)' : ''}; server and load run in separate processes.

Method: both routes do the same behind a session, with the same statements: a page of ${PAGE} objects, the start of an upload, or its
confirmation. Uploads sign URLs and read objects' headers with the AWS SDK and one client. Those "without a bucket" use a stub on
both sides, which signs no URLs and makes no requests, so the library's own cost is a larger share.
The routes run in ${rounds} alternating rounds on one server with one pool, over ${CONNECTIONS} open connections, for uploads of as many
owners. Times are medians of the rounds, in microseconds of the server's CPU time per request. The ratio is the number of
requests that the library serves in the time of one by the bare route. Lowest and highest are ratios of single rounds. Rates
is the ratio of requests per second of wall-clock time, which other load on the machine affects.
`)

const withSeparators = (number) => Math.round(number).toLocaleString('en')
const compared = []
for (const framework of rounds > 0 ? frameworks : []) {
  const options = { connection: cluster.connection, gateway, load, store, rounds, scenarios: available }
  compared.push(...(await compareRoutes(framework, options)))
}
const byScenario = available
  .map(({ name }) => [name, compared.filter(({ scenario }) => scenario === name)])
  .filter(([, results]) => results.length > 0)
for (const [scenario, results] of byScenario) {
  printTable(scenario, [
    ['', 'bare route', 'library', 'ratio', 'lowest', 'highest', 'bar', 'rates', ''],
    ...results.map(({ framework, bare, library, ratio, lowest, highest, bar, rates, missed }) => [
      framework,
      ...[bare, library].map(withSeparators),
      ...[ratio, lowest, highest].map((number) => number.toFixed(2)),
      `>= ${bar}`,
      rates.toFixed(2),
      missed ? 'missed' : '',
    ]),
  ])
}

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
await pool.end()
await gateway?.stop()
await cluster.stop()
const report = openReport('http')
for (const [scenario, results] of byScenario) {
  report.record(
    `${scenario} compared with a bare route`,
    results.map(({ framework, ratio, bar, missed }) => ({
      name: framework,
      ratio,
      bar: { least: bar },
      missed,
    })),
  )
}
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
