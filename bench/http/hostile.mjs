// Measures how much processor time the library takes for hostile requests of at most 16 kB, compared with a usual one.
// --check: exit with 1 if a ratio is well above its bar. --all: print every ratio. --framework="Koa 3": only this one.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { barText, printTable } from '../ratio-table.mjs'
import { openReport } from '../report.mjs'
import { measureFramework } from './hostile-measurement.mjs'
import { hostileServers } from './hostile-servers.mjs'
import { shapes } from './hostile-shapes.mjs'

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    framework: { type: 'string' },
  },
})
if (values.framework !== undefined && !(values.framework in hostileServers)) {
  console.error(`--framework must be one of ${Object.keys(hostileServers).join(', ')}.`)
  process.exit(2)
}
const frameworks = values.framework ? [values.framework] : Object.keys(hostileServers)

/**
 * With --check, a ratio may be this many times its bar. Some ratios are close to their bars. Other load on the machine, and
 * what Node has optimized so far, add up to a quarter. Flaws that matter are tens or hundreds of times above.
 */
const MARGIN = values.check ? 2 : 1
const PRINTED_ROWS = 8

console.log(`Node ${process.versions.node}, ${cpus().length} CPUs; ${shapes.length} requests to each server.

Method: a bare route of the same framework returns what the library returns. Times are microseconds of the server's CPU time
per request, the lowest of the rounds. The ratio is what the library adds to the bare route, compared with what it adds for a
usual request: GET /db/objects?limit=20 with the headers of a browser. For a body, that is a harmless one of the same size,
unless it takes less than the usual request. Requests that are cheap in total are not compared with the bare route. A request
that misses its bar is measured up to 4 more times, in turn with the one it is compared with. Express does not parse queries.
`)
if (values.check) console.log(`The check fails if a ratio is more than ${MARGIN} times its bar.\n`)

const report = openReport('hostile')
for (const framework of frameworks) {
  const measured = await measureFramework(framework)
  const rows = measured.map((row) => ({ ...row, missed: row.ratio > row.bar.most * MARGIN }))
  rows.sort((a, b) => b.ratio / b.bar.most - a.ratio / a.bar.most)
  printTable(`${framework}: the worst of ${rows.length} requests that Node accepts`, [
    ['', 'status', 'bare', 'library', 'ratio', 'bar', ''],
    ...rows
      .slice(0, values.all ? undefined : PRINTED_ROWS)
      .map(({ name, status, library, bare, ratio, bar, missed }) => [
        name,
        String(status),
        bare === null ? '' : bare.toFixed(0),
        library.toFixed(0),
        ratio.toFixed(2),
        barText(bar),
        missed ? 'missed' : '',
      ]),
  ])
  report.record(framework, values.check ? rows.filter(({ missed }) => missed) : rows.slice(0, 1))
}
report.close({ check: values.check, isCorrect: true })
