import { postgresAdapter } from '@svc/db/postgres'
import { upload } from '../servers/store-calls.mjs'

/**
 * Creates a schema with events on, in which none waits. `add` adds events of objects that have no other, all due. They are
 * copies of one that the adapter recorded, each with a key of its own, because loading many takes only SQL.
 */
export async function createEventQueue(pool, schema) {
  const store = postgresAdapter(pool, { schema, events: true })
  await store.migrate()
  await upload(store, 'user:sample')
  const { object } = (await pool.query(`DELETE FROM ${schema}.events RETURNING object`)).rows[0]
  const { key } = (await pool.query('SELECT $1::json ->> 4 AS key', [object])).rows[0]
  return {
    store,

    async add(events) {
      await pool.query({
        name: `bench_add_to_${schema}`,
        text: `
          INSERT INTO ${schema}.events (object_number, type, is_first, created_at, due_at, object)
          SELECT hashtextextended(made.id, 0), 'activated', true, clock_timestamp(), clock_timestamp(),
            replace($1, $2, 'uploads/' || made.id)
          FROM (SELECT gen_random_uuid()::text AS id FROM generate_series(1, $3::int)) made`,
        values: [object, key, events],
      })
    },

    async remove() {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`)
    },
  }
}
