import { compareWaiting } from '../servers/compare-waiting.mjs'
import { bucket } from '../servers/scopes.mjs'
import { keyOf, scopeOf } from './loaded-many-scopes.mjs'

const PARTITIONED = 'bench_partitions'
const ROUNDS = 301
const PARTITIONS = 16

/**
 * Compares bare statements with those of a table in hash partitions by scope. Such a table can have no unique index
 * without the scope, so it could not keep two owners from one key.
 */
export async function comparePartitions(pool, schema, rows) {
  await pool.query(`
    CREATE SCHEMA ${PARTITIONED};
    CREATE TABLE ${PARTITIONED}.objects (LIKE ${schema}.objects) PARTITION BY HASH (scope)`)
  for (let part = 0; part < PARTITIONS; part++) {
    await pool.query(`CREATE TABLE ${PARTITIONED}.objects_${part} PARTITION OF ${PARTITIONED}.objects
      FOR VALUES WITH (MODULUS ${PARTITIONS}, REMAINDER ${part})`)
  }
  await pool.query(`
    INSERT INTO ${PARTITIONED}.objects SELECT * FROM ${schema}.objects;
    CREATE INDEX ON ${PARTITIONED}.objects (attempt_id);
    CREATE INDEX ON ${PARTITIONED}.objects (bucket, key, status) WHERE status <> 'deleted';
    CREATE INDEX ON ${PARTITIONED}.objects (scope, status, id);
    CREATE INDEX ON ${PARTITIONED}.objects (scope, route, status, id) WHERE route IS NOT NULL`)
  await pool.query(`VACUUM (ANALYZE) ${PARTITIONED}.objects`)

  const statements = [
    {
      name: 'a page of 50 of one scope',
      text: (table) =>
        `SELECT * FROM ${table} WHERE scope = $1 AND status = 'active' ORDER BY id DESC LIMIT 50`,
      values: (number) => [scopeOf(number, rows)],
    },
    {
      name: 'a row by key',
      text: (table) => `SELECT * FROM ${table} WHERE bucket = $1 AND key = $2 AND status <> 'deleted'`,
      values: (number) => [bucket, keyOf(number)],
    },
    {
      name: 'an UPDATE by attempt',
      text: (table) => `UPDATE ${table} SET e_tag = $2 WHERE attempt_id = $1`,
      values: (number) => [attemptOf(number), 'changed'],
    },
  ]
  const results = []
  for (const { name, text, values } of statements) {
    const side = (owner) => () =>
      pool.query({
        name: `bench_${owner}_${name}`,
        text: text(`${owner}.objects`),
        values: values(Math.floor(Math.random() * rows)),
      })
    results.push(
      await compareWaiting({ name, base: side(schema), subject: side(PARTITIONED), bar: {}, rounds: ROUNDS }),
    )
  }
  return results
}

function attemptOf(number) {
  const hex = (value) => value.toString(16).padStart(12, '0')
  const time = hex(1_735_689_600_000 + number * 1000)
  const digits = `${time}70008000${hex(number)}`
  return digits.replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
