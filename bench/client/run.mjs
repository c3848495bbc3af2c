// Measures in Chromium what an upload costs the page: time beside one by hand, reading, digests, memory, and many at once.
// --check: exit with 1 if a bar is missed.
import { mkdtemp, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { importSource } from '../own-source.mjs'
import { median, misses } from '../ratios.mjs'
import { barText, printTable } from '../ratio-table.mjs'
import { openReport } from '../report.mjs'
import { PART, startServer } from './server.mjs'

/** Uploads of each side. */
const ROUNDS = 3

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const { chromiumProgram } = await importSource('test/servers/chromium.ts')
const executablePath = chromiumProgram()
if (executablePath === null) throw new Error('Install Chromium.')
const folder = await mkdtemp(join(tmpdir(), 'svc-db-bench-'))
const server = await startServer()
const report = openReport('client')

const browser = await launch()
console.log(`Chromium ${browser.version()}, ${cpus().length} CPUs, with the server on the same machine.

Method: the page uploads a sparse file, in turn with code that sends the same parts, also four at once, and neither compares nor
keeps anything. The bucket drops what it gets. Times are medians of ${ROUNDS} uploads of each.
`)
const results = [
  await compareUploads('300 MB at 100 Mbit/s', { bytes: 300e6, megabits: 100, bar: { most: 1.1 } }),
  await compareUploads('1 GB without a limit', { bytes: 1e9, megabits: Infinity, bar: {} }),
]
printTable('Seconds of an upload', [
  ['', 'by hand', 'client', 'ratio', 'bar', ''],
  ...results.map(({ name, byHand, client, ratio, bar, missed }) => [
    name,
    byHand.toFixed(1),
    client.toFixed(1),
    ratio.toFixed(2),
    barText(bar),
    missed ? 'missed' : '',
  ]),
])
report.record('an upload compared with one by hand', results)
const costs = await measureMany([10, 1000, 5000])
printTable('The page\u2019s processor time for each of many small uploads that start at once', [
  ['uploads', 'milliseconds each', 'beside 10', 'bar', ''],
  ...costs.map(({ name, milliseconds, ratio, bar, missed }) => [
    name,
    milliseconds.toFixed(1),
    ratio.toFixed(2),
    barText(bar),
    missed ? 'missed' : '',
  ]),
])
report.record('the cost of an upload among many', costs)
const tasks = await measureTasks()
printTable('The longest task of the page while a file is sent, in milliseconds', [
  ['', 'by hand', 'client', 'bar', ''],
  ...tasks.map(({ name, byHand, client, bar, missed }) => [
    name,
    taskText(byHand),
    taskText(client),
    barText(bar),
    missed ? 'missed' : '',
  ]),
])
report.record(
  'milliseconds of the longest task of the page',
  tasks.map((task) => ({ ...task, ratio: task.client })),
)
console.log(await measureDigest())
console.log(await measureResumption())
await browser.close()
console.log(await measureMemory([1e9, 5e9]))

server.stop()
await rm(folder, { recursive: true })
report.close({ check: values.check, isCorrect: true })

function launch() {
  return chromium.launch({ executablePath, timeout: 0 })
}

/** Opens the page in a context of its own, with nothing kept, and a file of this size chosen. */
async function openPage(browser, bytes) {
  const context = await browser.newContext()
  context.setDefaultTimeout(0)
  const page = await context.newPage()
  const path = fileOf(bytes)
  await writeFile(path, '')
  await truncate(path, bytes)
  await choose(page, path)
  return page
}

function fileOf(bytes) {
  return join(folder, `${bytes}.mp4`)
}

async function choose(page, path) {
  await page.goto(server.url)
  await page.waitForFunction(() => 'upload' in window)
  await page.setInputFiles('input', path)
}

async function compareUploads(name, { bytes, megabits, bar }) {
  server.limit(megabits)
  const page = await openPage(browser, bytes)
  const seconds = { uploadByHand: [], upload: [] }
  for (let round = 0; round < ROUNDS; round++) {
    const sides = ['uploadByHand', 'upload']
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const start = performance.now()
      await page.evaluate((side) => window[side](), side)
      seconds[side].push((performance.now() - start) / 1000)
    }
  }
  await page.context().close()
  const [byHand, client] = [median(seconds.uploadByHand), median(seconds.upload)]
  const ratio = client / byHand
  return { name, byHand, client, ratio, bar, missed: misses(ratio, bar) }
}

/** Measures the page's main thread while so many uploads, which start at once, are done. */
async function measureMany(counts) {
  server.limit(Infinity)
  const page = await openPage(browser, 1)
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const taskSeconds = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'TaskDuration').value
  }
  const each = async (count, rounds) => {
    const before = await taskSeconds()
    for (let round = 0; round < rounds; round++) await page.evaluate((n) => window.uploadMany(n), count)
    return ((await taskSeconds()) - before) / count / rounds
  }
  // So that the first figure has no compilation in it.
  await each(10, 50)
  const seconds = []
  for (const count of counts) seconds.push(await each(count, Math.ceil(1000 / count)))
  await page.context().close()
  return seconds.map((each, index) => {
    const ratio = each / seconds[0]
    const bar = index === 0 ? {} : { most: 1.3 }
    return { name: String(counts[index]), milliseconds: each * 1000, ratio, bar, missed: misses(ratio, bar) }
  })
}

/** Measures the longest task while 512 MiB are sent, and 64 MiB on a processor that is six times slower. */
async function measureTasks() {
  const results = []
  for (const { name, bytes, slowness, bar } of [
    { name: '512 MiB', bytes: 512 * 1024 ** 2, slowness: 1, bar: { most: 50 } },
    { name: '64 MiB, processor slowed down 6 times', bytes: 64 * 1024 ** 2, slowness: 6, bar: {} },
  ]) {
    const page = await openPage(browser, bytes)
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: slowness })
    const start = performance.now()
    const byHand = await page.evaluate(() => window.longestTask('uploadByHand'))
    const middle = performance.now()
    const client = await page.evaluate(() => window.longestTask('upload'))
    const [hand, own] = [middle - start, performance.now() - middle].map((time) => (time - 1000) / 1000)
    results.push({
      name: `${name} (${hand.toFixed(1)} s by hand, ${own.toFixed(1)} s)`,
      byHand,
      client,
      bar,
      missed: misses(client, bar),
    })
    await page.context().close()
  }
  return results
}

/** Browsers tell only of tasks of 50 ms and more. */
function taskText(milliseconds) {
  return milliseconds === 0 ? 'below 50' : milliseconds.toFixed(0)
}

async function measureDigest() {
  const page = await openPage(browser, PART)
  const milliseconds = await page.evaluate((size) => window.digestMilliseconds(size, 101), PART)
  await page.context().close()
  return `The digest of a part in memory: ${Math.round(PART / 1000 / milliseconds)} MB/s.`
}

/** Measures how long a reloaded page compares the 2 GB that have arrived before it sends the next byte. */
async function measureResumption() {
  server.limit(Infinity)
  const bytes = 3e9
  const page = await openPage(browser, bytes)
  const arrived = server.puts(Math.ceil(2e9 / PART))
  page.evaluate(() => window.upload()).catch(() => {})
  await arrived
  await choose(page, fileOf(bytes))
  const first = server.puts(1)
  const start = performance.now()
  page.evaluate(() => window.upload()).catch(() => {})
  await first
  const seconds = (performance.now() - start) / 1000
  await page.context().close()
  return `The first byte of a resumed upload, after 2 GB have arrived: ${seconds.toFixed(1)} s.`
}

/** Measures files of several sizes, each in a browser of its own. */
async function measureMemory(sizes) {
  if (process.platform !== 'linux') return 'Skipped: the memory of the page, which needs Linux.'
  server.limit(Infinity)
  const peaks = []
  for (const bytes of sizes) {
    const browser = await launch()
    const page = await openPage(browser, bytes)
    await page.evaluate(() => window.upload())
    peaks.push(`${Math.round((await peakOfPages()) / 1024)} MiB with ${bytes / 1e9} GB`)
    await browser.close()
  }
  return `The most memory of the page: ${peaks.join(', ')}.`
}

/** Returns the largest resident set of a page's process, in KiB. */
async function peakOfPages() {
  const peaks = []
  for (const id of await readdir('/proc')) {
    if (!/^\d+$/.test(id)) continue
    const [command, status] = await Promise.all(
      ['cmdline', 'status'].map((name) => readFile(`/proc/${id}/${name}`, 'utf8').catch(() => '')),
    )
    if (command.includes('--type=renderer')) peaks.push(Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? 0))
  }
  return Math.max(...peaks)
}
