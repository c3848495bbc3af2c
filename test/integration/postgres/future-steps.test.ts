import type pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import type { Database } from '../../../src/adapters/postgres/connection/database.js'
import { databaseError } from '../../../src/adapters/postgres/connection/failures.js'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { readCatalog } from '../../../src/adapters/postgres/schema/catalog.js'
import { migrate } from '../../../src/adapters/postgres/schema/migrate.js'
import { markerType, schemaText } from '../../../src/adapters/postgres/schema/migration-text.js'
import type { AddedIndex, MigrationStep } from '../../../src/adapters/postgres/schema/migration-step.js'
import { inSchema, schemaName } from '../../../src/adapters/postgres/schema/schema-name.js'
import { SCHEMA_VERSION, STEPS } from '../../../src/adapters/postgres/schema/steps.js'
import { verify } from '../../../src/adapters/postgres/schema/verify.js'
import { readStatements } from '../../../src/adapters/postgres/statements/reads.js'
import { usageStatements } from '../../../src/adapters/postgres/statements/usage-checks.js'
import { writeStatements } from '../../../src/adapters/postgres/statements/writes.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

/** Steps of later releases: one with two indexes and a column that one of them needs, and one with SQL alone. */
const UNIQUE_INDEX: AddedIndex = {
  kind: 'index',
  index: 'objects_by_e_tag',
  table: 'objects',
  unique: true,
  definition: '(e_tag) WHERE e_tag IS NOT NULL',
}
const SECOND_INDEX: AddedIndex = {
  kind: 'index',
  index: 'objects_by_colour',
  table: 'objects',
  unique: false,
  definition: "(colour) WHERE status = 'active'",
}
const ADDING: MigrationStep = {
  version: SCHEMA_VERSION + 1,
  minCompatible: 1,
  additions: [{ kind: 'columns', table: 'objects', columns: { colour: 'text' } }, UNIQUE_INDEX, SECOND_INDEX],
  sql: '',
}
const DEFINING: MigrationStep = {
  version: SCHEMA_VERSION + 2,
  minCompatible: 1,
  additions: [],
  sql: 'CREATE TABLE {schema}.colours (colour text)',
}
const FUTURE = [...STEPS, ADDING, DEFINING]
const NEWEST = DEFINING.version

describePostgres('migration steps of later releases', (url) => {
  const pool = poolOf(url)
  let schema: string
  beforeEach(() => {
    schema = freshSchema()
  })
  afterEach(() => dropSchema(pool, schema))
  afterAll(() => pool.end())

  const name = () => schemaName('migrate', schema)
  const database = (own: pg.Pool = pool) => pgDatabase(own, { named: true })
  const migrateWith = (steps: readonly MigrationStep[], own: pg.Pool = pool) =>
    migrate(database(own), name(), steps)
  const catalog = () => readCatalog(database(), name())
  const run = (sql: string) => pool.query(inSchema(sql, name()))

  /** Inserts two rows with the same e_tag, which the unique index does not allow. */
  async function insertDuplicates(): Promise<void> {
    const row = (number: number) => {
      const id = `'0199a000-0000-7000-8000-00000000000${number}'`
      return `(${id}, ${id}, 's', 'b', 'k${number}', 'active', 'same', now(), now(), now())`
    }
    await run(`INSERT INTO {schema}.objects
      (id, attempt_id, scope, bucket, key, status, e_tag, created_at, updated_at, writable_until)
      VALUES ${row(1)}, ${row(2)}`)
  }
  const makeDistinct = () => run(`UPDATE {schema}.objects SET e_tag = 'other' WHERE key = 'k2'`)

  it('lead to the same schema from every earlier version', async () => {
    await migrateWith(FUTURE)
    const fresh = await catalog()
    for (let version = 1; version < NEWEST; version++) {
      await dropSchema(pool, schema)
      await migrateWith(FUTURE.slice(0, version))
      expect(await migrateWith(FUTURE)).toEqual({ from: version, to: NEWEST })
      expect(await catalog()).toEqual(fresh)
    }
  })

  it('end at the newest version if old and new processes migrate at the same time', async () => {
    const pools = Array.from({ length: 12 }, () => poolOf(url, { max: 1 }))
    const lengths = [STEPS.length, STEPS.length + 1, FUTURE.length]
    await Promise.all(pools.map((own, i) => migrateWith(FUTURE.slice(0, lengths[i % 3]), own)))
    await Promise.all(pools.map((own) => own.end()))
    expect(await migrateWith(FUTURE)).toEqual({ from: NEWEST, to: NEWEST })
    // Older code keeps working, misses nothing and takes nothing back.
    const store = postgresAdapter(pool, { schema })
    expect(await store.migrate()).toEqual({ from: NEWEST, to: NEWEST })
    expect(await store.verify()).toEqual([])
    const expiresAt = new Date(Date.now() + 1e6)
    await store.reserve({ scope: 's', bucket: 'b', key: 'k', declaredSize: 1, expiresAt })
    expect(await store.countByScope('s')).toBe(1)
  })

  describe('that build an index concurrently', () => {
    it('claim each of two indexes in a row once, because the first claim is released', async () => {
      await migrateWith(STEPS)
      let claims = 0
      const counting: Database = {
        ...database(),
        run(statement, values) {
          if (statement.name.startsWith('svc_db_index_claim')) claims++
          return database().run(statement, values)
        },
      }
      await migrate(counting, name(), FUTURE)
      expect(claims).toBe(2)
    })

    it('release the claim, whether the build succeeds or fails', async () => {
      await migrateWith(STEPS)
      await insertDuplicates()
      const claimed = async () =>
        (await run('SELECT build_claimed_until AS until FROM {schema}.schema_version')).rows as unknown[]
      await expect(migrateWith(FUTURE)).rejects.toMatchObject({ code: '23505' })
      expect(await claimed()).toEqual([{ until: null }])
      await makeDistinct()
      await migrateWith([...STEPS, ADDING])
      expect(await claimed()).toEqual([{ until: null }])
    })

    it('rebuild an index that an interrupted build left invalid', async () => {
      await migrateWith(STEPS)
      await insertDuplicates()
      await expect(migrateWith(FUTURE)).rejects.toMatchObject({ code: '23505' })
      expect((await catalog()).get('index objects_by_e_tag')).toContain('not valid')
      await makeDistinct()
      expect(await migrateWith(FUTURE)).toEqual({ from: SCHEMA_VERSION, to: NEWEST })
      expect((await catalog()).get('index objects_by_e_tag')).not.toContain('not valid')
    })
  })

  describe('in the text of postgresSchema()', () => {
    const text = (steps: readonly MigrationStep[] = FUTURE) => schemaText(steps, name())
    /** The statements in the comments that begin with these words. */
    const commented = (words: string, of = FUTURE.slice(STEPS.length)) =>
      text(of)
        .split('\n')
        .filter((line) => line.startsWith(`-- ${words}`))
        .map((line) => line.slice('-- '.length))
    const oidOf = async (index: string) => {
      const query = `SELECT format('%I.%I', $1::text, $2::text)::regclass::oid AS oid`
      return (await pool.query<{ oid: number }>(query, [schema, index])).rows[0]!.oid
    }

    it('do the same as migrate(), from every earlier version and again', async () => {
      await migrateWith(FUTURE)
      const migrated = await catalog()
      for (let version = 0; version <= NEWEST; version++) {
        await dropSchema(pool, schema)
        await migrateWith(FUTURE.slice(0, version))
        await pool.query(text())
        await pool.query(text())
        expect(await catalog()).toEqual(migrated)
        expect(await migrateWith(FUTURE)).toEqual({ from: NEWEST, to: NEWEST })
      }
    })

    it('run in a transaction, whose rollback leaves nothing', async () => {
      await migrateWith(STEPS)
      const before = await catalog()
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        await client.query(text())
        await client.query('ROLLBACK')
      } finally {
        client.release(true)
      }
      expect(await catalog()).toEqual(before)
    })

    it('keep the indexes that the statements in its comments built beforehand', async () => {
      await migrateWith(STEPS)
      const statements = [...commented('ALTER'), ...commented('CREATE')]
      expect(statements).toHaveLength(3)
      for (const statement of statements) await pool.query(statement)
      const indexes = [UNIQUE_INDEX, SECOND_INDEX].map(({ index }) => index)
      const before = await Promise.all(indexes.map(oidOf))
      await pool.query(text())
      expect(await Promise.all(indexes.map(oidOf))).toEqual(before)
      expect(await migrateWith(FUTURE)).toEqual({ from: NEWEST, to: NEWEST })
    })

    it('refuse an invalid index by name until it is dropped as the comments say', async () => {
      await migrateWith(STEPS)
      await insertDuplicates()
      const [create] = commented('CREATE')
      await expect(pool.query(create!)).rejects.toMatchObject({ code: '23505' })
      await makeDistinct()
      const before = await catalog()
      await expect(pool.query(text())).rejects.toMatchObject({
        code: '55000',
        message: expect.stringContaining(`${quoted(schema)}.objects_by_e_tag`) as string,
        hint: expect.stringContaining(`DROP INDEX CONCURRENTLY ${quoted(schema)}.objects_by_e_tag`) as string,
      })
      expect(await catalog()).toEqual(before)
      for (const statement of commented('DROP')) await pool.query(statement)
      await pool.query(text())
      expect(await migrateWith(FUTURE)).toEqual({ from: NEWEST, to: NEWEST })
    })

    it('have no comments without additions', () => {
      expect(text(STEPS.slice(0, 1))).toMatch(/^DO /)
    })

    it('stay comments for a schema whose name contains line breaks', async () => {
      schema = 'line\nbreak\r\nand\rreturn'
      await pool.query(text())
      expect(await migrateWith(FUTURE)).toEqual({ from: NEWEST, to: NEWEST })
    })
  })

  describe('that were not run', () => {
    it('are reported by verify()', async () => {
      await migrateWith(STEPS)
      const steps = [...STEPS, ADDING]
      expect(await verify(database(), name(), steps)).toEqual([
        expect.stringContaining(`needs version ${ADDING.version}. Run migrate().`),
        'Missing: column objects.colour.',
        'Missing: index objects_by_e_tag.',
        'Missing: index objects_by_colour.',
      ])
      await migrateWith(steps)
      expect(await verify(database(), name(), steps)).toEqual([])
    })

    it('make every statement of newer code fail, even if they only add an index', async () => {
      const statements = [readStatements, writeStatements, usageStatements]
        .flatMap((statementsOf) => Object.values(statementsOf(name())))
        .flatMap((each) => ('text' in each ? [each] : Object.values(each)))
        .filter(({ name }) => !name.startsWith('svc_db_ping'))
      expect(statements.length).toBeGreaterThan(30)
      const client = await pool.connect()
      const prepare = async (text: string) => {
        await client.query(`PREPARE newer AS ${text}`)
        await client.query('DEALLOCATE newer')
      }
      try {
        await migrateWith(STEPS)
        for (const statement of statements) await prepare(statement.text)
        // Everything but the version itself is there.
        await run(`DROP DOMAIN {schema}.${markerType(SCHEMA_VERSION)}`)
        for (const statement of statements) {
          const error: unknown = await prepare(statement.text).catch(databaseError)
          expect(error, statement.name).toMatchObject({
            code: 'DATABASE_UNAVAILABLE',
            retryable: false,
            message: expect.stringContaining('migrate()') as string,
          })
        }
      } finally {
        client.release(true)
      }
    })
  })
})
