// Measures what it costs to keep temporary objects, and to remove those past their end. --check: exit with 1 if a bar is missed.
import { parseArgs } from 'node:util'
import pg from 'pg'
import { cleanUp, createS3Server, db, memoryStorage } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { openReport } from '../report.mjs'
import { compareWaiting, METHOD } from '../servers/compare-waiting.mjs'
import { bucket } from '../servers/scopes.mjs'
import { ample, reserve, SIZE } from '../servers/store-calls.mjs'
import { SETTINGS, startCluster } from './cluster.mjs'

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const ROUNDS = 201
/** Rounds of clean-ups take longer. */
const ROUNDS_OF_PAGES = 31
const KEPT = 10
const DUE = 100
const HOUR = 3_600_000
const SCHEMAS = { off: 'bench_ends', on: 'bench_ends_with_events' }

const cluster = await startCluster()
const pool = new pg.Pool({ ...cluster.connection, max: 1, idleTimeoutMillis: 0 })
/** Prepares rounds, outside the time that is measured. */
const preparing = new pg.Pool({ ...cluster.connection, max: 8, idleTimeoutMillis: 0 })
for (const each of [pool, preparing]) each.on('error', () => {})
const { server_version: version } = (await pool.query('SHOW server_version')).rows[0]
console.log(`PostgreSQL ${version} (${cluster.from}) with ${SETTINGS.join(', ')}, over local TCP, one connection.

${METHOD} What a call needs is prepared before its round.
`)

for (const schema of Object.values(SCHEMAS)) {
  await postgresAdapter(pool, { schema, events: schema === SCHEMAS.on }).migrate()
}

/** Creates objects without an end. Returns their keys and ids. */
async function objectsOf(schema, scope, count) {
  const store = postgresAdapter(preparing, { schema })
  return Promise.all(
    Array.from({ length: count }, async () => {
      const { key, id } = await reserve(store, scope, ample)
      await store.confirm({ bucket, key, id, scope, size: SIZE, quota: ample })
      return { key, id }
    }),
  )
}

/** One update of an object. */
async function updating(schema) {
  const scope = 'user:updates'
  const [{ key }] = await objectsOf(schema, scope, 1)
  const store = postgresAdapter(pool, { schema })
  return () => store.update({ bucket, key, scope, filename: `picture ${Math.random()}.jpg` })
}

/** One keep of ten objects. Each call keeps others, which get an end before the round. */
async function keeping(schema) {
  const scope = 'user:forms'
  const store = postgresAdapter(pool, { schema })
  const preparer = postgresAdapter(preparing, { schema })
  const forms = []
  const waiting = []
  return {
    async prepare(calls) {
      while (forms.length < calls) forms.push(await objectsOf(schema, scope, KEPT))
      for (const form of forms.splice(0, calls)) {
        await Promise.all(
          form.map(({ key }) => preparer.update({ bucket, key, scope, temporarySeconds: 3600 })),
        )
        waiting.push(form)
      }
    },
    async keep() {
      const form = waiting.shift()
      await store.keep({ scope, objects: form.map(({ id }) => ({ id })) })
      forms.push(form)
    },
  }
}

/** The same by hand: one statement on a table like `objects`, with an index by which a job finds the ends. */
async function keepingByHand(schema) {
  const table = `${schema}.objects_by_hand`
  await pool.query(`
    CREATE TABLE ${table} (LIKE ${schema}.objects INCLUDING ALL);
    ALTER TABLE ${table} ADD COLUMN temporary_until timestamptz;
    CREATE INDEX ON ${table} (temporary_until) WHERE temporary_until IS NOT NULL`)
  const text = `UPDATE ${table} SET temporary_until = NULL, updated_at = $3
    WHERE attempt_id = ANY ($1) AND scope = $2 AND status = 'active' AND temporary_until > $3 RETURNING *`
  const scope = 'user:by-hand'
  const forms = []
  const waiting = []
  return {
    async prepare(calls) {
      while (forms.length < calls) {
        const ids = (await objectsOf(schema, scope, KEPT)).map(({ id }) => id)
        await preparing.query(`INSERT INTO ${table} SELECT * FROM ${schema}.objects WHERE id = ANY ($1)`, [
          ids,
        ])
        forms.push(ids)
      }
      const end = `UPDATE ${table} SET temporary_until = now() + interval '1 hour' WHERE attempt_id = ANY ($1)`
      for (const ids of forms.splice(0, calls)) {
        await preparing.query(end, [ids])
        waiting.push(ids)
      }
    },
    async keep() {
      const ids = waiting.shift()
      const { rowCount } = await pool.query({
        name: 'bench_hand_keep',
        text,
        values: [ids, scope, new Date()],
      })
      if (rowCount !== KEPT) throw new Error(`The statement kept ${rowCount} of ${KEPT} objects.`)
      forms.push(ids)
    },
  }
}

const report = openReport('postgres, temporary objects')
const update = { off: await updating(SCHEMAS.off), on: await updating(SCHEMAS.on) }
const keep = { off: await keeping(SCHEMAS.off), on: await keeping(SCHEMAS.on) }
report.add(
  `keep of ${KEPT} objects, compared with one update, events off`,
  ['update', 'keep'],
  [
    await compareWaiting({
      ...{ name: `${KEPT} objects`, base: update.off, subject: keep.off.keep, rounds: ROUNDS },
      ...{ bar: { most: 1.5 }, prepare: { subject: keep.off.prepare } },
    }),
  ],
)
const byHand = await keepingByHand(SCHEMAS.off)
report.add(
  `keep of ${KEPT} objects, compared with one statement by hand, events off`,
  ['by hand', 'keep'],
  [
    await compareWaiting({
      ...{ name: `${KEPT} objects`, base: byHand.keep, subject: keep.off.keep, rounds: ROUNDS },
      ...{ bar: { most: 1.5 }, prepare: { base: byHand.prepare, subject: keep.off.prepare } },
    }),
  ],
)
const events = [
  await compareWaiting({
    ...{ name: 'update', base: update.off, subject: update.on, rounds: ROUNDS, bar: { most: null } },
  }),
  await compareWaiting({
    ...{ name: `keep of ${KEPT}`, base: keep.off.keep, subject: keep.on.keep, rounds: ROUNDS },
    ...{ bar: { most: null }, prepare: { base: keep.off.prepare, subject: keep.on.prepare } },
  }),
]
report.add('Events, of one object and of ten', ['events off', 'events on'], events)
const [ofOne, ofTen] = events.map(
  ({ baseMicroseconds, subjectMicroseconds }) => subjectMicroseconds - baseMicroseconds,
)
console.log(`The event of an update takes ${ofOne.toFixed(0)} microseconds, the ${KEPT} events of a keep ${ofTen.toFixed(0)}.
`)

/** The objects past their end, and what removes them. */
function ending(schema, scope) {
  const past = postgresAdapter(preparing, { schema, now: () => new Date(Date.now() - HOUR) })
  const store = postgresAdapter(pool, { schema })
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket,
    plugins: [db({ client: store, resolveScope: () => scope })],
  })
  let due = []
  return {
    /** Adds objects whose end came almost an hour ago. */
    async prepare() {
      const added = Array.from({ length: DUE }, async () => {
        const expiresAt = new Date(Date.now() - HOUR / 2)
        const key = `drafts/${Math.random()}`
        const at = { bucket, key, scope }
        const { id } = await past.reserve({
          ...at,
          declaredSize: SIZE,
          expiresAt,
          storageKey: key,
          temporarySeconds: 1,
        })
        await past.confirm({ ...at, id, size: SIZE })
        return at
      })
      due = await Promise.all(added)
    },
    async removeEach() {
      for (const at of due) await store.remove(at)
    },
    async cleanUp() {
      const { temporary } = await cleanUp(s3)
      if (temporary.removed !== DUE)
        throw new Error(`cleanUp removed ${temporary.removed} of ${DUE} objects.`)
    },
    forget: () => preparing.query(`DELETE FROM ${schema}.leftovers`),
  }
}

for (const [events, schema] of Object.entries(SCHEMAS)) {
  const one = ending(schema, 'user:deletes')
  const other = ending(schema, 'user:ends')
  const afresh = async (side) => {
    await one.forget()
    await side.prepare()
  }
  report.add(
    `cleanUp of ${DUE} objects past their end, compared with a remove of each, events ${events}`,
    ['remove', 'cleanUp'],
    [
      await compareWaiting({
        ...{ name: `${DUE} objects`, base: one.removeEach, subject: other.cleanUp, rounds: ROUNDS_OF_PAGES },
        ...{ bar: { most: 1 }, calls: 1 },
        prepare: { base: () => afresh(one), subject: () => afresh(other) },
      }),
    ],
  )
}

const differences = (
  await Promise.all(Object.values(SCHEMAS).map((schema) => postgresAdapter(pool, { schema }).checkUsage()))
).flat()
await pool.end()
await preparing.end()
await cluster.stop()
report.close({ check: values.check, isCorrect: differences.length === 0 })
