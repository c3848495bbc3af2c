import { setTimeout } from 'node:timers/promises'
import { median, misses } from '../ratios.mjs'
import { printTable } from '../ratio-table.mjs'
import { withSeparators } from '../servers/options.mjs'

/** Events that each round adds and delivers. */
const ADDED = 1000
/** Rounds start at most this often, so 10,000 events per second pass through. */
const ROUND_MILLISECONDS = 100
/**
 * How often autovacuum looks at the table. Its default of a minute suits uploads, which take minutes to record as many
 * events as this benchmark adds within a second.
 */
const AUTOVACUUM_NAPTIME = '1s'
const TENTHS = 10

/**
 * Delivers this many events through a queue in which some wait, in rounds that add as many as they deliver. Compares the
 * size of the table and its indexes, the median of those after each tenth, with that of a table which contains only the
 * waiting events.
 */
export async function deliverManyEvents(pool, schema, { store, waiting, add }, events) {
  await setNaptime(pool, `'${AUTOVACUUM_NAPTIME}'`)
  const tenths = []
  for (let tenth = 0; tenth < TENTHS; tenth++) {
    let [delivered, milliseconds] = [0, 0]
    while (delivered < events / TENTHS) {
      const start = performance.now()
      await add(ADDED)
      delivered += await deliver(store)
      const took = performance.now() - start
      milliseconds += took
      await setTimeout(Math.max(0, ROUND_MILLISECONDS - took))
    }
    const perSecond = delivered / (milliseconds / 1000)
    tenths.push({ perSecond, bytes: await sizeOf(pool, `${schema}.events`) })
  }
  await setNaptime(pool, 'DEFAULT')
  const sizeOfWaiting = await sizeOfCopy(pool, schema)
  const size = median(tenths.map(({ bytes }) => bytes))
  const bar = { most: 10 }
  const ratio = size / sizeOfWaiting
  const name = 'table and indexes, compared with only the waiting events'
  return { tenths, waiting, sizeOfWaiting, result: { name, bar, ratio, missed: misses(ratio, bar) } }
}

async function deliver(store) {
  const claimed = await store.claimEvents({ limit: ADDED })
  const settled = await store.settleEvents(claimed)
  if (settled.length !== ADDED) throw new Error(`Settled ${settled.length} events of ${ADDED}.`)
  return settled.length
}

export function printDelivery({ tenths, waiting, sizeOfWaiting, result }) {
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1)
  printTable(
    `Events through a queue in which ${withSeparators(waiting)} wait, autovacuum each ${AUTOVACUUM_NAPTIME}`,
    [
      ['', 'events per second of work', 'MB'],
      ...tenths.map(({ perSecond, bytes }, tenth) => [
        `tenth ${tenth + 1}`,
        withSeparators(perSecond),
        megabytes(bytes),
      ]),
      ['only the waiting events', '', megabytes(sizeOfWaiting)],
      ['ratio, of the median', '', result.ratio.toFixed(2)],
    ],
  )
}

async function setNaptime(pool, value) {
  await pool.query(`ALTER SYSTEM SET autovacuum_naptime = ${value}`)
  await pool.query('SELECT pg_reload_conf()')
}

async function sizeOf(pool, table) {
  const { rows } = await pool.query('SELECT pg_total_relation_size($1::regclass)::float8 AS bytes', [table])
  return rows[0].bytes
}

/** Returns the size of a new table with the same rows and indexes. */
async function sizeOfCopy(pool, schema) {
  await pool.query(`
    CREATE TABLE ${schema}.bench_copy (LIKE ${schema}.events INCLUDING ALL);
    INSERT INTO ${schema}.bench_copy OVERRIDING SYSTEM VALUE SELECT * FROM ${schema}.events`)
  return sizeOf(pool, `${schema}.bench_copy`)
}
