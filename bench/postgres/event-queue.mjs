import { postgresAdapter } from '@svc/db/postgres'
import { upload } from '../servers/store-calls.mjs'

/**
 * Creates a schema with events on, in which this many wait. `add` adds more of objects that have no other, all due. They
 * are copies of one that the adapter recorded, each with a key of its own, because loading many takes only SQL. `createAdapter` may be
 * that of another build.
 */
export async function createEventQueue(pool, schema, waiting, createAdapter = postgresAdapter) {
  const store = createAdapter(pool, { schema, events: true })
  await store.migrate()
  await upload(store, 'user:sample')
  const { object } = (await pool.query(`DELETE FROM ${schema}.events RETURNING object`)).rows[0]
  const { key } = (await pool.query('SELECT $1::json ->> 4 AS key', [object])).rows[0]

  async function add(events) {
    await pool.query({
      name: `bench_add_to_${schema}`,
      text: `
        INSERT INTO ${schema}.events (object_digest, object_number, type, is_first, created_at, due_at, object)
        SELECT made.id::uuid, hashtextextended(made.id, 0), 'activated', true, clock_timestamp(), clock_timestamp(),
          replace($1, $2, 'uploads/' || made.id)
        FROM (SELECT gen_random_uuid()::text AS id FROM generate_series(1, $3::int)) made`,
      values: [object, key, events],
    })
  }

  await add(waiting)
  await pool.query(`VACUUM (ANALYZE) ${schema}.events`)
  await pool.query('CHECKPOINT')
  return {
    store,
    waiting,
    add,

    async remove() {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`)
    },
  }
}
