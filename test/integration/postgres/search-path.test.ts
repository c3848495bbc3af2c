import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { concurrentWrites, everyCall } from './every-call.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

const HOSTILE = 'hostile'

/**
 * Functions that would match calls of the adapter better than the built-in ones, if it looked them up by search_path.
 */
const trapsFor = (schema: string) => {
  const write = `${quoted(schema)}.scope_write_v1`
  return [
    ['hashtextextended', 'text, int', 'bigint'],
    ['json_build_object', 'text, text, text, text', 'json'],
    ['json_build_object', 'text, text, text, text, text, text', 'json'],
    [
      'json_build_array',
      'uuid, uuid, text, text, text, text, text, text, text, text, text, text, json',
      'json',
    ],
    ['json_populate_recordset', `${write}, json`, `SETOF ${write}`],
    ['cardinality', `${write}[]`, 'int'],
    ['unnest', `${write}[]`, `SETOF ${write}`],
    ['times', 'float8, int', 'float8'],
  ]
}

describePostgres('hostile functions and operators in the search_path', (url) => {
  const schema = freshSchema()
  const hostile = `${HOSTILE}_${process.pid}`
  const owner = poolOf(url)
  const pool = poolOf(url, { options: `-c search_path=${hostile},public` })
  const store = postgresAdapter(pool, { schema })

  beforeAll(async () => {
    await store.migrate()
    await owner.query(`CREATE SCHEMA ${hostile}`)
    for (const [name, types, result] of trapsFor(schema)) {
      await owner.query(
        `CREATE FUNCTION ${hostile}.${name}(${types}) RETURNS ${result} LANGUAGE plpgsql AS $$
         BEGIN RAISE EXCEPTION 'a trap'; END $$`,
      )
    }
    await owner.query(
      `CREATE OPERATOR ${hostile}.* (LEFTARG = float8, RIGHTARG = int, FUNCTION = ${hostile}.times)`,
    )
  })
  afterAll(async () => {
    await dropSchema(owner, hostile)
    await dropSchema(owner, schema)
    await Promise.all([pool.end(), owner.end()])
  })

  it('precede the built-in ones', async () => {
    await expect(pool.query(`SELECT hashtextextended('a', 0)`)).rejects.toThrow('a trap')
    await expect(pool.query(`SELECT 1.5::float8 * 2`)).rejects.toThrow('a trap')
  })

  const now = () => new Date()
  for (const { name, prepare, call } of [...everyCall('scope', now), concurrentWrites('scope', now)]) {
    it(`are not called by ${name}`, async () => {
      await prepare?.(store)
      await call(store)
    })
  }
})
