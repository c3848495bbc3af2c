import { misses } from '../ratios.mjs'

/** Events that wait at the end of each round. */
const BACKLOG = 1000
const ADDED = 1000

/**
 * Delivers many events through a queue with a small backlog, in rounds that add as many as they deliver. Returns the size
 * of the table with its indexes, compared with that of a table which contains only the waiting events, and the speed of
 * each tenth. Autovacuum has its default settings.
 */
export async function deliverManyEvents(pool, schema, { store, add }, total) {
  await add(BACKLOG)
  const tenths = []
  const sizes = []
  for (let tenth = 0; tenth < 10; tenth++) {
    const start = performance.now()
    let delivered = 0
    while (delivered < total / 10) {
      await add(ADDED)
      const claimed = await store.claimEvents({ limit: ADDED })
      delivered += (await store.settleEvents(claimed)).length
    }
    tenths.push(delivered / ((performance.now() - start) / 1000))
    sizes.push(await sizeOf(pool, `${schema}.events`))
  }
  const copy = await sizeOfCopy(pool, schema)
  const size = sizes.at(-1)
  const bar = { most: 10 }
  const result = (name, bytes, isLast) => {
    const ratio = bytes / copy
    return { name, bar: isLast ? bar : {}, ratio, missed: isLast && misses(ratio, bar) }
  }
  return {
    results: [result('table and indexes, compared with only the waiting events', size, true)],
    copy,
    sizes,
    perSecond: tenths,
  }
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
