import { PGlite } from '@electric-sql/pglite'
import { createAttemptId, type StorageObjectStore } from '@svc/db'
import type pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import type { Database } from '../../../src/adapters/postgres/connection/database.js'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { laterAdditions } from '../../../src/adapters/postgres/migrate/additions.js'
import { readCatalog } from '../../../src/adapters/postgres/migrate/catalog.js'
import { schemaName } from '../../../src/adapters/postgres/sql/schema-name.js'
import { SCHEMA } from '../../../src/adapters/postgres/sql/schema.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'
import { callsOfVersion15, schemaOfVersion15 } from './version-1-5.js'

const BUCKET = 'bucket'
const SCOPES = ['ann', 'bob', 'cid']
const KEYS = ['1', '2', '3', '4', '5', '6']

const pick = <T>(values: readonly T[]) => values[Math.floor(Math.random() * values.length)]!
const later = () => new Date(Date.now() + 60_000)

describePostgres('a schema of version 1.5', (url) => {
  const pool = poolOf(url, { max: 16 })
  let schema: string
  beforeEach(async () => {
    schema = freshSchema()
    await pool.query(schemaOfVersion15(schema))
  })
  afterEach(() => dropSchema(pool, schema))
  afterAll(() => pool.end())

  const name = () => schemaName('migrate', schema)
  const database = (): Database => pgDatabase(pool, { named: true })
  const newStore = () => postgresAdapter(pool, { schema })
  const catalog = () => readCatalog(database(), name())

  it('is refused before migrate()', async () => {
    await expect(newStore().find({ bucket: BUCKET, key: '1' })).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringContaining('migrate()') as string,
    })
    expect(await newStore().verify()).toContainEqual(expect.stringContaining('Run migrate().'))
  })

  it('becomes what a new database has, by migrate() or postgresSchema()', async () => {
    expect(await newStore().migrate()).toEqual({ from: 1, to: SCHEMA.version })
    const upgraded = await catalog()
    for (const beforehand of [[], statementsOfComments()]) {
      await dropSchema(pool, schema)
      await pool.query(schemaOfVersion15(schema))
      for (const statement of beforehand) await pool.query(statement)
      await pool.query(postgresSchema({ schema }))
      expect(await catalog()).toEqual(upgraded)
    }
    await dropSchema(pool, schema)
    await newStore().migrate()
    expect(await catalog()).toEqual(upgraded)
  })

  /** Returns what the comments of postgresSchema() recommend for large tables. */
  function statementsOfComments(): string[] {
    const statements = [...postgresSchema({ schema }).matchAll(/^-- ((?:ALTER TABLE|CREATE INDEX) .*;)$/gm)]
    expect(statements).toHaveLength(laterAdditions(SCHEMA.tables).length)
    return statements.map(([, statement]) => statement!)
  }

  it.each([
    { before: [], after: ['autovacuum_vacuum_scale_factor=0.05'] },
    { before: ['fillfactor=90'], after: ['fillfactor=90', 'autovacuum_vacuum_scale_factor=0.05'] },
    {
      before: ['autovacuum_vacuum_scale_factor=0.01', 'fillfactor=90'],
      after: ['autovacuum_vacuum_scale_factor=0.01', 'fillfactor=90'],
    },
  ])('is vacuumed as its operator has set, or at 5 % (set: $before)', async ({ before, after }) => {
    if (before.length > 0)
      await pool.query(`ALTER TABLE ${quoted(schema)}.objects SET (${before.join(', ')})`)
    await newStore().migrate()
    const { rows } = await pool.query('SELECT reloptions FROM pg_class WHERE oid = $1::regclass', [
      `${quoted(schema)}.objects`,
    ])
    expect(rows).toEqual([{ reloptions: after }])
  })

  it('is upgraded by several processes at once while processes of both versions write', async () => {
    const before = callsOfVersion15(pool, schema)
    for (const scope of SCOPES) {
      for (let key = 0; key < 100; key++) {
        const target = { scope, key: `${scope}/old/${key}` }
        await before.confirm(await before.reserve(target))
        if (key % 2 === 0) await before.remove(target)
      }
    }

    let hasMigrated = false
    let calls = 0
    const oldWriters = Array.from({ length: 8 }, async () => {
      for (let callsAfter = 0; callsAfter < 40; calls++) {
        await writeAsVersion15(pool, schema)
        if (hasMigrated) callsAfter++
      }
    })
    const pools = Array.from({ length: 4 }, () => poolOf(url, { max: 1 }))
    const results = await Promise.all(pools.map((own) => postgresAdapter(own, { schema }).migrate()))
    hasMigrated = true
    const newWriters = Array.from({ length: 4 }, async () => {
      for (let call = 0; call < 40; call++) await writeAsThisVersion(newStore())
    })
    await Promise.all([...oldWriters, ...newWriters, ...pools.map((own) => own.end())])

    expect(results.map(({ to }) => to)).toEqual(pools.map(() => SCHEMA.version))
    expect(results.filter(({ from }) => from === 1)).not.toHaveLength(0)
    expect(calls).toBeGreaterThan(8 * 40)
    expect(await newStore().checkUsage()).toEqual([])
    expect(await newStore().verify()).toEqual([])
    const { rows } = await pool.query(
      `SELECT version, min_compatible, build_claimed_until FROM ${quoted(schema)}.schema_version`,
    )
    expect(rows).toEqual([{ version: SCHEMA.version, min_compatible: 1, build_claimed_until: null }])
  })

  it('lets writers pass while migrate() waits for a transaction that uses the table', async () => {
    const reader = await pool.connect()
    try {
      await reader.query('BEGIN')
      await reader.query(`SELECT FROM ${quoted(schema)}.leftovers`)
      const migration = newStore().migrate()
      await untilAwaited('leftovers')
      // Without a limit of its wait, the migration would hold this up until the reader ends.
      const calls = callsOfVersion15(pool, schema)
      await calls.release(await calls.reserve({ scope: 'ann', key: '1' }))
      await reader.query('COMMIT')
      expect(await migration).toEqual({ from: 1, to: SCHEMA.version })
    } finally {
      reader.release(true)
    }
  })

  it('does not deadlock in postgresSchema() with a writer that uses the tables one after the other', async () => {
    const [writer, tool] = [await pool.connect(), await pool.connect()]
    try {
      await writer.query('BEGIN')
      const calls = callsOfVersion15(writer, schema)
      const attempt = await calls.reserve({ scope: 'ann', key: '1' })
      const upgrading = tool.query(postgresSchema({ schema }))
      await untilAwaited('objects')
      await calls.release(attempt)
      await writer.query('COMMIT')
      await upgrading
      expect(await newStore().verify()).toEqual([])
    } finally {
      writer.release(true)
      tool.release(true)
    }
  })

  it('takes a vacuum of a table for no other process that builds an index of it', async () => {
    const vacuum = await pool.connect()
    try {
      await vacuum.query('BEGIN')
      await vacuum.query(`LOCK TABLE ${quoted(schema)}.objects IN SHARE UPDATE EXCLUSIVE MODE`)
      const migration = newStore().migrate()
      await untilAwaited('objects')
      await vacuum.query('COMMIT')
      expect(await migration).toEqual({ from: 1, to: SCHEMA.version })
    } finally {
      vacuum.release(true)
    }
  })

  async function untilAwaited(table: string): Promise<void> {
    const waiting = `SELECT FROM pg_locks
      WHERE relation = format('%I.%I', $1::text, $2::text)::regclass AND NOT granted`
    await expect.poll(async () => (await pool.query(waiting, [schema, table])).rowCount).toBe(1)
  }

  describe('with rows of both versions', () => {
    it('lists leftovers from before the upgrade without a scope, and puts them off like others', async () => {
      const calls = callsOfVersion15(pool, schema)
      const early = await calls.reserve({ scope: 'ann', key: '1' })
      await calls.release(early)
      const store = newStore()
      await store.migrate()
      const late = await calls.reserve({ scope: 'ann', key: '1' })
      await calls.release(late)
      const own = await store.reserve(attempt('ann', '1'))
      await store.release({ ...own, scope: 'ann' })

      const leftovers = await store.listLeftovers()
      expect(leftovers.map(({ attemptId, scope, dueAt }) => ({ attemptId, scope, dueAt }))).toEqual([
        { attemptId: early.id, scope: null, dueAt: null },
        { attemptId: late.id, scope: 'ann', dueAt: null },
        { attemptId: own.id, scope: 'ann', dueAt: null },
      ])
      expect(await store.listLeftovers({ scope: 'ann' })).toMatchObject([
        { attemptId: late.id },
        { attemptId: own.id },
      ])

      const dueBefore = later()
      expect(await store.listLeftovers({ dueBefore })).toHaveLength(3)
      const until = new Date(dueBefore.getTime() + 1)
      for (const { id } of [early, own])
        expect(await store.deferLeftover({ attemptId: id, until })).toBe(true)
      expect(await store.listLeftovers({ dueBefore })).toMatchObject([{ attemptId: late.id }])
      expect(await store.listLeftovers({ dueBefore: until })).toMatchObject(
        [late, ...[early, own].sort((a, b) => (a.id < b.id ? -1 : 1))].map(({ id }) => ({ attemptId: id })),
      )
    })

    it('continues, ends and purges what the other version began', async () => {
      const store = newStore()
      await store.migrate()
      const calls = callsOfVersion15(pool, schema)

      const begun = await calls.reserve({ scope: 'ann', key: 'begun' })
      await store.confirm({ bucket: BUCKET, ...begun, size: 10 })
      const replacing = await store.reserve(attempt('ann', 'begun'))
      await calls.confirm({ scope: 'ann', key: 'begun', id: replacing.id })
      expect(await store.listLeftovers()).toMatchObject([{ attemptId: begun.id, scope: 'ann' }])

      const lapsed = await calls.reserve({ scope: 'ann', key: 'lapsed' }, '2020-01-01')
      expect(await store.purgeExpired()).toMatchObject([{ id: lapsed.id }])
      expect(await store.listLeftovers({ scope: 'ann' })).toMatchObject([
        { attemptId: begun.id },
        { attemptId: lapsed.id },
      ])

      await calls.remove({ scope: 'ann', key: 'begun' })
      expect(await store.purgeDeleted({ scope: 'bob', before: later() })).toBe(0)
      expect(await store.purgeDeleted({ scope: 'ann', before: later() })).toBe(1)
      expect(await store.checkUsage()).toEqual([])
    })
  })
})

describe('a PGlite database of version 1.5', () => {
  it('is upgraded', async () => {
    const pglite = new PGlite()
    await pglite.exec(schemaOfVersion15('svc_db'))
    const store = postgresAdapter(pglite)
    expect(await store.migrate()).toEqual({ from: 1, to: SCHEMA.version })
    expect(await store.verify()).toEqual([])
    const { rows } = await pglite.query('SELECT build_claimed_until FROM svc_db.schema_version')
    expect(rows).toEqual([{ build_claimed_until: null }])
    await pglite.close()
  })
})

function attempt(scope: string, key: string) {
  const id = createAttemptId()
  return { id, scope, bucket: BUCKET, key, declaredSize: 10, expiresAt: later(), storageKey: `bytes/${id}` }
}

/** Makes a random write of version 1.5 to one of a few keys, each of which belongs to one scope. */
async function writeAsVersion15(pool: pg.Pool, schema: string): Promise<void> {
  const calls = callsOfVersion15(pool, schema)
  const scope = pick(SCOPES)
  const target = { scope, key: `${scope}/${pick(KEYS)}` }
  const kind = Math.random()
  if (kind < 0.1) await calls.purgeExpired()
  else if (kind < 0.2) await calls.purgeDeleted()
  else if (kind < 0.3) await calls.remove(target)
  else if (kind < 0.4) await calls.batch(scope, [target.key, `${scope}/another`])
  else if (kind < 0.5) await calls.reserve(target, '2020-01-01')
  else {
    const reserved = await calls.reserve(target)
    await (kind < 0.7 ? calls.release(reserved) : calls.confirm(reserved))
  }
}

/** Makes the same with this version. */
async function writeAsThisVersion(store: StorageObjectStore): Promise<void> {
  const scope = pick(SCOPES)
  const reference = { bucket: BUCKET, key: `${scope}/${pick(KEYS)}` }
  const kind = Math.random()
  if (kind < 0.1) await store.purgeExpired()
  else if (kind < 0.2) await store.purgeDeleted({ scope, before: new Date() })
  else if (kind < 0.4) await store.remove({ ...reference, scope })
  else {
    const row = await store.reserve(attempt(scope, reference.key))
    if (kind < 0.6) await store.release({ ...reference, id: row.id, scope })
    else if (kind < 0.8) await store.remove({ ...reference, attemptId: row.id })
    else await store.confirm({ ...reference, id: row.id, scope, size: 12 }).catch(ignoreReplaced)
  }
}

/** Another writer may have replaced the attempt meanwhile. */
function ignoreReplaced(error: unknown): void {
  expect(error).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
}
