import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import type { Statement } from '../../../src/adapters/postgres/connection/database.js'
import { databaseError } from '../../../src/adapters/postgres/connection/failures.js'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { readCatalog } from '../../../src/adapters/postgres/migrate/catalog.js'
import { migrate } from '../../../src/adapters/postgres/migrate/migrate.js'
import { schemaText } from '../../../src/adapters/postgres/migrate/text.js'
import {
  buildStatements,
  inSchema,
  markerType,
  schemaName,
} from '../../../src/adapters/postgres/sql/statement.js'
import { SCHEMA, type Schema } from '../../../src/adapters/postgres/sql/schema.js'
import type { Index } from '../../../src/adapters/postgres/sql/tables.js'
import { verify } from '../../../src/adapters/postgres/migrate/verify.js'
import { describePostgres, dropSchema, poolOf, quoted, schemaOfEachTest } from './schemas.js'

const LATER = SCHEMA.version + 1
const NEWEST = SCHEMA.version + 2

const laterIndex = (name: string, definition: string): Index => ({
  ...{ name, definition, comment: `Is ${name}.`, since: LATER },
})
const UNIQUE_INDEX: Index = {
  ...laterIndex('objects_by_e_tag', 'btree (e_tag) WHERE (e_tag IS NOT NULL)'),
  isUnique: true,
}
const SECOND_INDEX = laterIndex('objects_by_colour', "btree (colour) WHERE (status = 'active'::text)")
/** On a table that this release created, and the release before did not have. */
const INDEX_OF_EVENTS = laterIndex('events_by_type', 'btree (type)')

/** The schema of a later release, with three indexes and a column that one of them needs. */
const COLOURED: Schema = {
  ...SCHEMA,
  version: LATER,
  tables: SCHEMA.tables.map((table) =>
    table.name === 'objects'
      ? {
          ...table,
          columns: { ...table.columns, colour: { since: LATER, type: 'text' } },
          indexes: [...table.indexes, UNIQUE_INDEX, SECOND_INDEX],
        }
      : table.name === 'events'
        ? { ...table, indexes: [...table.indexes, INDEX_OF_EVENTS] }
        : table,
  ),
}

/** That of the release after it, with a table, a type and a function. */
const FUTURE: Schema = {
  ...COLOURED,
  version: NEWEST,
  tables: [
    ...COLOURED.tables,
    {
      name: 'colours',
      comment: 'Colours.',
      since: NEWEST,
      columns: { colour: 'text NOT NULL' },
      primaryKey: 'colour',
      indexes: [],
    },
  ],
  types: [...COLOURED.types, { name: 'paint_v1', columns: 'colour text, litres bigint' }],
  functions: `${SCHEMA.functions}
CREATE OR REPLACE FUNCTION {schema}.colour_v1() RETURNS text LANGUAGE sql AS $body$SELECT 'red'$body$;`,
}

describePostgres('migrations to the schemas of later releases', (url) => {
  const pool = poolOf(url)
  let schema: string
  schemaOfEachTest(pool, (name) => (schema = name))

  const name = () => schemaName('migrate', schema)
  const database = (own: pg.Pool = pool) => pgDatabase(own, { named: true })
  const migrateTo = (definition: Schema, own: pg.Pool = pool) => migrate(database(own), name(), definition)
  const EARLIER = [SCHEMA, COLOURED]
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
    await migrateTo(FUTURE)
    const fresh = await catalog()
    for (const earlier of EARLIER) {
      await dropSchema(pool, schema)
      await migrateTo(earlier)
      expect(await migrateTo(FUTURE)).toEqual({ from: earlier.version, to: NEWEST })
      expect(await catalog()).toEqual(fresh)
    }
  })

  it('end at the newest version if old and new processes migrate at the same time', async () => {
    const pools = Array.from({ length: 12 }, () => poolOf(url, { max: 1 }))
    // A session that has looked for the schema before caches that it does not exist.
    await Promise.all(pools.map((own) => own.query('SELECT to_regnamespace($1)', [quoted(schema)])))
    const definitions = [SCHEMA, COLOURED, FUTURE]
    await Promise.all(pools.map((own, i) => migrateTo(definitions[i % 3]!, own)))
    await Promise.all(pools.map((own) => own.end()))
    expect(await migrateTo(FUTURE)).toEqual({ from: NEWEST, to: NEWEST })
    // Older code keeps working, misses nothing and takes nothing back.
    const store = postgresAdapter(pool, { schema })
    expect(await store.migrate()).toEqual({ from: NEWEST, to: NEWEST })
    expect(await store.verify()).toEqual([])
    const expiresAt = new Date(Date.now() + 1e6)
    await store.reserve({ scope: 's', bucket: 'b', key: 'k', declaredSize: 1, expiresAt })
    expect(await store.countByScope('s')).toBe(1)
  })

  it('release their claim of an index if its build fails, and rebuild what that left invalid', async () => {
    await migrateTo(SCHEMA)
    await insertDuplicates()
    const claimed = async () =>
      (await run('SELECT build_claimed_until AS until FROM {schema}.schema_version')).rows as unknown[]
    const isInvalid = async () => (await catalog()).get('index objects_by_e_tag')!.includes('not valid')
    await expect(migrateTo(FUTURE)).rejects.toMatchObject({ code: '23505' })
    expect([await claimed(), await isInvalid()]).toEqual([[{ until: null }], true])
    await makeDistinct()
    expect(await migrateTo(FUTURE)).toEqual({ from: SCHEMA.version, to: NEWEST })
    expect([await claimed(), await isInvalid()]).toEqual([[{ until: null }], false])
  })

  describe('in the text of postgresSchema()', () => {
    const text = () => schemaText(FUTURE, name())
    /** The statements in the comments that begin with these words. */
    const commented = (words: string) =>
      text()
        .split('\n')
        .filter((line) => line.startsWith(`-- ${words}`))
        .map((line) => line.slice('-- '.length))
    const oidOf = async (index: string) => {
      const query = `SELECT format('%I.%I', $1::text, $2::text)::regclass::oid AS oid`
      return (await pool.query<{ oid: number }>(query, [schema, index])).rows[0]!.oid
    }

    it('do the same as migrate(), from every earlier version and again', async () => {
      await migrateTo(FUTURE)
      const migrated = await catalog()
      for (const earlier of [null, ...EARLIER, FUTURE]) {
        await dropSchema(pool, schema)
        if (earlier) await migrateTo(earlier)
        await pool.query(text())
        await pool.query(text())
        expect(await catalog()).toEqual(migrated)
        expect(await migrateTo(FUTURE)).toEqual({ from: NEWEST, to: NEWEST })
      }
    })

    it('keep the indexes that the statements in its comments built beforehand', async () => {
      await migrateTo(SCHEMA)
      const statements = [...commented('ALTER'), ...commented('CREATE')]
      for (const statement of statements) await pool.query(statement)
      const indexes = [UNIQUE_INDEX, SECOND_INDEX].map((index) => index.name)
      const before = await Promise.all(indexes.map(oidOf))
      await pool.query(text())
      expect(await Promise.all(indexes.map(oidOf))).toEqual(before)
      expect(await migrateTo(FUTURE)).toEqual({ from: NEWEST, to: NEWEST })
    })

    it('refuse an invalid index by name until it is dropped as the comments say', async () => {
      await migrateTo(SCHEMA)
      await insertDuplicates()
      const create = commented('CREATE').find((statement) => statement.includes(UNIQUE_INDEX.name))!
      await expect(pool.query(create)).rejects.toMatchObject({ code: '23505' })
      await makeDistinct()
      const before = await catalog()
      await expect(pool.query(text())).rejects.toMatchObject({
        code: '55000',
        message: expect.stringContaining(`${quoted(schema)}.objects_by_e_tag`) as string,
        hint: expect.stringContaining(`DROP INDEX CONCURRENTLY ${quoted(schema)}.objects_by_e_tag`) as string,
      })
      expect(await catalog()).toEqual(before)
      const drop = commented('DROP').find((statement) => statement.includes(UNIQUE_INDEX.name))!
      await pool.query(drop)
      await pool.query(text())
      expect(await migrateTo(FUTURE)).toEqual({ from: NEWEST, to: NEWEST })
    })

    it('stay comments for a schema whose name contains line breaks', async () => {
      schema = 'line\nbreak\r\nand\rreturn'
      await pool.query(text())
      expect(await migrateTo(FUTURE)).toEqual({ from: NEWEST, to: NEWEST })
    })
  })

  describe('that were not run', () => {
    it('are reported by verify()', async () => {
      await migrateTo(SCHEMA)
      expect(await verify(database(), name(), COLOURED)).toEqual([
        expect.stringContaining(`needs version ${LATER}. Run migrate().`),
        'Missing: column objects.colour.',
        'Missing: index objects_by_e_tag.',
        'Missing: index objects_by_colour.',
        'Missing: index events_by_type.',
        `Missing: type ${markerType(LATER, name())}.`,
      ])
      await migrateTo(COLOURED)
      expect(await verify(database(), name(), COLOURED)).toEqual([])
    })

    it('make every statement of newer code fail, even if they only add an index', async () => {
      const { scopeLists, countedScopeLists, ...groups } = buildStatements(name())
      const statements = [scopeLists, countedScopeLists, groups]
        .flatMap((each) => Object.values<Readonly<Record<string, Statement>>>(each))
        .flatMap((group) => Object.values(group))
      expect(statements.length).toBeGreaterThan(30)
      const prepare = (text: string) => pool.query(`PREPARE newer AS ${text}; DEALLOCATE newer`)
      await migrateTo(SCHEMA)
      for (const statement of statements) await prepare(statement.text)
      // Everything but the version itself is there.
      await run(`DROP DOMAIN {schema}.${markerType(SCHEMA.version, name())}`)
      for (const statement of statements) {
        const error: unknown = await prepare(statement.text).catch(databaseError)
        expect(error, statement.name).toMatchObject({
          code: 'DATABASE_UNAVAILABLE',
          retryable: false,
          message: expect.stringContaining('migrate()') as string,
        })
      }
    })
  })
})
