// Measures how much processor time the library takes for hostile requests of at most 16 kB, compared with a usual one.
// --check: exit with 1 if a ratio is far above its bar. --all: print every ratio. --framework="Koa 3": only this one.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { barText, printTable } from '../ratio-table.mjs'
import { openReport } from '../report.mjs'
import { startChild } from './child-process.mjs'
import { hostileServers } from './hostile-servers.mjs'
import { bytesOf, harmless, shapes, usual } from './hostile-shapes.mjs'
import { openPipeline } from './pipeline.mjs'

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
 * With --check, a ratio may be this many times its bar. Flaws that matter are tens or hundreds of times above it, and
 * other load on the machine can double the processor time of a request.
 */
const MARGIN = values.check ? 3 : 1
const WARM_UP_REQUESTS = 1000
const ROUNDS = 9
const ROUND_REQUESTS = 8
const SCREENING_REQUESTS = 4
const PRINTED_ROWS = 8
/** One round of a request that takes this long is enough. */
const SLOW_MICROSECONDS = 20_000

console.log(`Node ${process.versions.node}, ${cpus().length} CPUs; ${shapes.length} requests to each server.

Method: a bare route of the same framework returns what the library returns. Times are microseconds of the server's CPU time
per request, the lowest of the rounds. The ratio is what the library adds to the bare route, compared with what it adds for a
usual request: GET /db/objects?limit=20 with the headers of a browser. For a body, that is a harmless one of the same size,
unless it takes less than the usual request. Requests that are cheap in total are not compared with the bare route.
`)

const report = openReport('hostile')
for (const framework of frameworks) {
  const rows = await measureFramework(framework)
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

async function measureFramework(framework) {
  const child = startChild('hostile-process.mjs', [framework], ['--no-deprecation'])
  const { ports } = await child.reply()
  const open = (side) => openPipeline(ports[side])
  const lines = { library: await open('library'), bare: await open('bare') }

  async function cost(side, shape, count) {
    const bytes = bytesOf(shape)
    const before = await child.request({})
    const response = await lines[side].send(bytes, count)
    const after = await child.request({})
    if (response === null) lines[side] = await open(side)
    return { response, microseconds: (after.microseconds - before.microseconds) / count }
  }

  /** Measures both sides in alternating rounds. */
  async function compared(shape, rounds, count) {
    const { response } = await cost('library', shape, 1)
    await child.request({ record: response })
    const lowest = { library: Infinity, bare: Infinity }
    for (let round = 0; round < rounds && !(round > 0 && lowest.library > SLOW_MICROSECONDS); round++) {
      for (const side of round % 2 === 0 ? ['library', 'bare'] : ['bare', 'library']) {
        const { microseconds } = await cost(side, shape, count)
        lowest[side] = Math.min(lowest[side], microseconds)
      }
    }
    return { ...lowest, added: lowest.library - lowest.bare }
  }

  for (let done = 0; done < WARM_UP_REQUESTS; done += 50) await cost('library', usual, 50)
  const added = new Map([[usual.id, (await compared(usual, ROUNDS, ROUND_REQUESTS)).added]])
  async function addedByReference(shape) {
    if (shape.body === null) return added.get(usual.id)
    const like = harmless(shape)
    if (!added.has(like.id)) {
      const body = await compared(like, ROUNDS, ROUND_REQUESTS)
      added.set(like.id, Math.max(body.added, added.get(usual.id)))
    }
    return added.get(like.id)
  }

  const rows = []
  for (const shape of shapes) {
    const reference = await addedByReference(shape)
    const screened = await cost('library', shape, SCREENING_REQUESTS)
    if (screened.response === null) continue
    const isCheap = screened.microseconds <= shape.bar.most * reference
    const found = isCheap
      ? { library: screened.microseconds, bare: null, added: screened.microseconds }
      : await compared(shape, ROUNDS, ROUND_REQUESTS)
    const ratio = found.added / reference
    const { name, bar } = shape
    const { status } = screened.response
    rows.push({ name, bar, status, ...found, ratio, missed: ratio > bar.most * MARGIN })
  }
  await child.stop()
  for (const line of Object.values(lines)) line.close()
  return rows
}
