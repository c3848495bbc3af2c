import { createAttemptId, createS3Server, db, importObjects, memoryStorage } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { median, misses } from '../ratios.mjs'
import { printTable } from '../ratio-table.mjs'
import { withSeparators } from '../servers/options.mjs'

const OBJECTS = 5000
const ROUNDS = 5
/** The default of `importObjects`. */
export const IMPORT_CONCURRENCY = 16
const BUCKET = 'imported'
/** How many objects in a row belong to one owner: buckets list the keys of an owner together. */
const PER_OWNER = [1, 100, OBJECTS]

/** Compares an import with one bare INSERT per object, with as many at once, into tables with the same indexes. */
export async function compareImports(pool, bareSchema, schema) {
  const store = postgresAdapter(pool, { schema })
  await store.migrate()
  const results = []
  for (const perOwner of PER_OWNER) results.push(await compareImport(pool, store, bareSchema, perOwner))
  return results
}

async function compareImport(pool, store, bareSchema, perOwner) {
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    const items = itemsOf(`${perOwner}/${round}`)
    const sides = {
      bare: () => insertAll(pool, bareSchema, items, perOwner),
      imported: () => importAll(store, items, perOwner),
    }
    const perSecond = {}
    for (const side of round % 2 === 0 ? ['bare', 'imported'] : ['imported', 'bare']) {
      const start = performance.now()
      await sides[side]()
      perSecond[side] = OBJECTS / ((performance.now() - start) / 1000)
    }
    rounds.push(perSecond)
  }
  const ratio = median(rounds.map(({ bare, imported }) => imported / bare))
  const bar = { least: 0.2 }
  const name = `${withSeparators(perOwner)} in a row for one owner`
  return {
    ...{ name, bar, ratio, missed: misses(ratio, bar) },
    bare: median(rounds.map(({ bare }) => bare)),
    imported: median(rounds.map(({ imported }) => imported)),
  }
}

export function printImports(results) {
  printTable(
    `Objects per second of importObjects, compared with one INSERT per object, ${IMPORT_CONCURRENCY} at once`,
    [
      ['', 'INSERT', 'importObjects', 'ratio', 'bar', ''],
      ...results.map(({ name, bare, imported, ratio, bar, missed }) => [
        name,
        withSeparators(Math.round(bare)),
        withSeparators(Math.round(imported)),
        ratio.toFixed(2),
        `>= ${bar.least}`,
        missed ? 'missed' : '',
      ]),
    ],
  )
}

function itemsOf(prefix) {
  return Array.from({ length: OBJECTS }, (_, index) => ({
    key: `${prefix}/${String(index).padStart(8, '0')}.jpg`,
    size: 1000,
    eTag: '"e"',
    lastModified: new Date(1_600_000_000_000 + index),
  }))
}

const ownerOf = (index, perOwner) => `user:${Math.floor(index / perOwner)}`

async function importAll(store, items, perOwner) {
  const list = async ({ after, limit }) => {
    const start = after ? items.findIndex(({ key }) => key === after) + 1 : 0
    const page = items.slice(start, start + limit)
    return { items: page, next: start + limit < items.length ? page.at(-1).key : null }
  }
  const s3 = createS3Server({
    storage: { ...memoryStorage(), list },
    bucket: BUCKET,
    plugins: [db({ client: store, resolveScope: () => null })],
  })
  const indexOf = new Map(items.map(({ key }, index) => [key, index]))
  const { imported, failed } = await importObjects(s3, {
    concurrency: IMPORT_CONCURRENCY,
    select: ({ key }) => ({ scope: ownerOf(indexOf.get(key), perOwner), contentType: 'image/jpeg' }),
  })
  if (imported !== OBJECTS) throw new Error(`Imported ${imported} of ${OBJECTS}: ${failed[0]?.error}`)
}

async function insertAll(pool, schema, items, perOwner) {
  const entries = items.entries()
  const worker = async () => {
    for (const [index, item] of entries) {
      await pool.query({
        name: 'bench_bare_import',
        text: `INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, content_type, size, e_tag,
                 storage_key, created_at, updated_at, confirmed_at, writable_until)
               VALUES ($7, $7, $1, $2, $3, 'active', 'image/jpeg', $4, $5, $3, $6,
                 now(), now(), now())`,
        values: [
          ownerOf(index, perOwner),
          BUCKET,
          item.key,
          item.size,
          item.eTag,
          item.lastModified,
          createAttemptId(),
        ],
      })
    }
  }
  await Promise.all(Array.from({ length: IMPORT_CONCURRENCY }, worker))
}
