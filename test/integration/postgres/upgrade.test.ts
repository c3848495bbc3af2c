import { createAttemptId, type StorageObjectStore, type StoredEvent } from '@svc/db'
import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import { beforeAll, expect, it } from 'vitest'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { additionsTo } from '../../../src/adapters/postgres/migrate/additions.js'
import { readCatalog } from '../../../src/adapters/postgres/migrate/catalog.js'
import { schemaName } from '../../../src/adapters/postgres/sql/statement.js'
import { SCHEMA } from '../../../src/adapters/postgres/sql/schema.js'
import { describeWithRelease } from '../upgrade/describe-with-release.js'
import { releasedPostgres, type ReleasedPostgres } from '../upgrade/released-source.js'
import { attempt, BUCKET } from './attempt.js'
import {
  asRole,
  describePostgres,
  dropSchema,
  inTransaction,
  poolOf,
  quoted,
  schemaOfEachTest,
  untilAwaited,
} from './schemas.js'

const later = () => new Date(Date.now() + 7_200_000)
const at = (key: string) => ({ bucket: BUCKET, key })

// Processes of both versions that write at the same time are in upgrade-of-release.long.test.ts.
describeWithRelease('a schema of version 1.5', () => {
  let release: ReleasedPostgres
  beforeAll(async () => {
    release = await releasedPostgres()
  })

  describePostgres('on a server', (url) => {
    const pool = poolOf(url, { max: 16 })
    let schema: string
    let store: StorageObjectStore
    let old: StorageObjectStore
    schemaOfEachTest(pool, async (name) => {
      schema = name
      store = postgresAdapter(pool, { schema })
      old = release.postgresAdapter(pool, { schema })
      await pool.query(release.postgresSchema({ schema }))
    })

    const catalog = () =>
      readCatalog(pgDatabase(pool, { named: true }), schemaName('postgresAdapter', schema))

    async function reserve(by: StorageObjectStore, key: string): Promise<string> {
      const id = createAttemptId()
      await by.reserve({ ...attempt(key, 'ann'), id, storageKey: `bytes/${id}` })
      return id
    }

    async function upload(by: StorageObjectStore, key: string): Promise<string> {
      const id = await reserve(by, key)
      await by.confirm({ ...at(key), id, scope: 'ann', size: 5 })
      return id
    }

    it('is refused before migrate()', async () => {
      await expect(store.find(at('1'))).rejects.toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        message: expect.stringContaining('migrate()') as string,
      })
      expect(await store.verify()).toContainEqual(expect.stringContaining('Run migrate().'))
    })

    it('becomes what a new database has, by several migrate() at once or postgresSchema()', async () => {
      const pools = Array.from({ length: 4 }, () => poolOf(url, { max: 1 }))
      const results = await Promise.all(pools.map((own) => postgresAdapter(own, { schema }).migrate()))
      await Promise.all(pools.map((own) => own.end()))
      expect(results.map(({ to }) => to)).toEqual(pools.map(() => SCHEMA.version))
      expect(results.filter(({ from }) => from === 1)).not.toHaveLength(0)
      const upgraded = await catalog()
      for (const beforehand of [[], statementsOfComments()]) {
        await dropSchema(pool, schema)
        await pool.query(release.postgresSchema({ schema }))
        for (const statement of beforehand) await pool.query(statement)
        await pool.query(postgresSchema({ schema }))
        expect(await catalog()).toEqual(upgraded)
      }
      await dropSchema(pool, schema)
      await store.migrate()
      expect(await catalog()).toEqual(upgraded)
    })

    /** Returns what the comments of postgresSchema() recommend for large tables. */
    function statementsOfComments(): string[] {
      const statements = [...postgresSchema({ schema }).matchAll(/^-- ((?:ALTER TABLE|CREATE INDEX) .*;)$/gm)]
      expect(statements).toHaveLength(
        SCHEMA.tables.flatMap(additionsTo).filter(({ isLater }) => isLater).length,
      )
      return statements.map(([, statement]) => statement!)
    }

    it.each([
      { before: [], after: ['autovacuum_vacuum_scale_factor=0.05'] },
      {
        before: ['autovacuum_vacuum_scale_factor=0.01', 'fillfactor=90'],
        after: ['autovacuum_vacuum_scale_factor=0.01', 'fillfactor=90'],
      },
    ])('is vacuumed as its operator has set, or at 5 % (set: $before)', async ({ before, after }) => {
      if (before.length > 0)
        await pool.query(`ALTER TABLE ${quoted(schema)}.objects SET (${before.join(', ')})`)
      await store.migrate()
      const { rows } = await pool.query('SELECT reloptions FROM pg_class WHERE oid = $1::regclass', [
        `${quoted(schema)}.objects`,
      ])
      expect(rows).toEqual([{ reloptions: after }])
    })

    it('lets writers pass while migrate() waits for a transaction that uses the table', async () => {
      let migration: Promise<unknown> | undefined
      await inTransaction(pool, async (reader) => {
        await reader.query(`SELECT FROM ${quoted(schema)}.leftovers`)
        migration = store.migrate()
        await untilAwaited(pool, schema, 'leftovers')
        // Without a limit of its wait, the migration would hold this up until the reader ends.
        await old.release({ ...at('1'), id: await reserve(old, '1'), scope: 'ann' })
      })
      expect(await migration).toEqual({ from: 1, to: SCHEMA.version })
    })

    it.each([
      ['objects', 'ROW EXCLUSIVE'],
      ['leftovers', 'ACCESS SHARE'],
    ])('names the session that locks %s in %s mode, and stops at a signal', async (table, mode) => {
      await inTransaction(pool, async (reader) => {
        await reader.query(`SET LOCAL application_name = 'report'`)
        await reader.query(`LOCK TABLE ${quoted(schema)}.${table} IN ${mode} MODE`)
        const { rows } = await reader.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
        const stop = new AbortController()
        const reason = new Error('enough')
        let report = ''
        const onProgress = ({ waitingFor }: { waitingFor: string }) => {
          // Before it, a session of another test may be in the way for a moment.
          if (!waitingFor.includes(` ${rows[0]!.pid} `)) return
          report = waitingFor
          stop.abort(reason)
        }
        await expect(store.migrate({ signal: stop.signal, onProgress })).rejects.toBe(reason)
        expect(report.replace(/\d+ s/, 'N s')).toBe(
          `migrate() waits for session ${rows[0]!.pid} ("report"), whose transaction began N s ago.`,
        )
        const running = `SELECT FROM pg_stat_activity WHERE query LIKE '/* migrate()%' AND strpos(query, $1) > 0
          AND state = 'active'`
        await expect.poll(async () => (await pool.query(running, [schema])).rowCount).toBe(0)
      })
      expect(await store.migrate()).toMatchObject({ to: SCHEMA.version })
    })

    it('does not deadlock in postgresSchema() with a writer that uses the tables one after the other', async () => {
      let upgrading: Promise<unknown> | undefined
      await inTransaction(pool, async (writer) => {
        const writing = release.postgresAdapter(writer, { schema })
        const id = await reserve(writing, '1')
        upgrading = pool.query(postgresSchema({ schema }))
        await untilAwaited(pool, schema, 'objects')
        await writing.release({ ...at('1'), id, scope: 'ann' })
      })
      await upgrading
      expect(await store.verify()).toEqual([])
    })

    it('takes a vacuum of a table for no other process that builds an index of it', async () => {
      let migration: Promise<unknown> | undefined
      await inTransaction(pool, async (vacuum) => {
        await vacuum.query(`LOCK TABLE ${quoted(schema)}.objects IN SHARE UPDATE EXCLUSIVE MODE`)
        migration = store.migrate()
        await untilAwaited(pool, schema, 'objects')
      })
      expect(await migration).toEqual({ from: 1, to: SCHEMA.version })
    })

    it('lists leftovers from before the upgrade without a scope, and puts them off like others', async () => {
      const end = async (by: StorageObjectStore) => {
        const id = await reserve(by, '1')
        await by.release({ ...at('1'), id, scope: 'ann' })
        return id
      }
      const early = await end(old)
      await store.migrate()
      const [late, own] = [await end(old), await end(store)]
      const leftovers = await store.listLeftovers()
      expect(leftovers.map(({ attemptId, scope, dueAt }) => ({ attemptId, scope, dueAt }))).toEqual([
        { attemptId: early, scope: null, dueAt: null },
        { attemptId: late, scope: 'ann', dueAt: null },
        { attemptId: own, scope: 'ann', dueAt: null },
      ])
      const others = [{ attemptId: late }, { attemptId: own }]
      expect(await store.listLeftovers({ scope: 'ann' })).toMatchObject(others)
      const dueBefore = later()
      const until = new Date(dueBefore.getTime() + 1)
      expect(await store.deferLeftover({ attemptId: early, until })).toBe(true)
      expect(await store.listLeftovers({ dueBefore })).toMatchObject(others)
      expect(await store.listLeftovers({ dueBefore: until })).toHaveLength(3)
    })

    it('lets either version continue, end and purge what the other began', async () => {
      await store.migrate()
      const begun = await reserve(old, 'begun')
      await store.confirm({ ...at('begun'), id: begun, scope: 'ann', size: 10 })
      await upload(old, 'begun')
      expect(await store.listLeftovers()).toMatchObject([{ attemptId: begun, scope: 'ann' }])
      const lapsed = await reserve(old, 'lapsed')
      const tomorrow = postgresAdapter(pool, { schema, now: () => new Date(Date.now() + 86_400_000) })
      expect(await tomorrow.purgeExpired()).toMatchObject([{ id: lapsed }])
      await old.remove({ ...at('begun'), scope: 'ann' })
      expect(await store.purgeDeleted({ scope: 'bob', before: later() })).toBe(0)
      expect(await store.purgeDeleted({ scope: 'ann', before: later() })).toBe(1)
      expect(await store.checkUsage()).toEqual([])
    })

    it('holds processes of version 1.5 to the terms of an attempt, by each of their calls', async () => {
      await store.migrate()
      const begin = async (key: string, term: object) => {
        const id = createAttemptId()
        await store.reserve({ ...attempt(key, 'ann'), ...term, id, storageKey: `bytes/${id}` })
        return { ...at(key), id, scope: 'ann', size: 5, eTag: 'e' }
      }
      const terms = [{ temporarySeconds: 60 }, { checkSeconds: 60 }]
      const alone = await Promise.all(terms.map((term, index) => begin(`alone ${index}`, term)))
      for (const input of alone) await old.confirm(input)
      const batched = await Promise.all(
        [...terms, ...terms].map((term, index) => begin(`batched ${index}`, term)),
      )
      await Promise.all(batched.map((input) => old.confirm(input)))
      for (const { key } of [...alone, ...batched]) {
        const row = await store.find(at(key))
        const isTemporary = key.endsWith('0') || key.endsWith('2')
        expect(row).toMatchObject(
          isTemporary
            ? { status: 'active', temporaryUntil: expect.any(Date) as Date, arrivedAt: null }
            : { status: 'pending', temporaryUntil: null, arrivedAt: expect.any(Date) as Date },
        )
      }
      const tomorrow = release.postgresAdapter(pool, { schema, now: () => new Date(Date.now() + 86_400_000) })
      expect(await tomorrow.purgeExpired()).toEqual([])
      await old.release({ ...at('alone 1'), id: alone[1]!.id, scope: 'ann' })
      await old.remove({ ...at('alone 0'), scope: 'ann' })
      await old.remove({ ...at('batched 1'), scope: 'ann', mode: 'hard' })
      const { rows } = await pool.query(`SELECT FROM ${quoted(schema)}.terms`)
      expect(rows).toHaveLength(3)
      expect(await store.checkUsage()).toEqual([])
    })

    it('records the events of processes of version 1.5, by each of their calls', async () => {
      await postgresAdapter(pool, { schema, events: true }).migrate()
      const [first, second] = [await upload(old, '1'), await upload(store, '1')]
      const keys = ['1', '2', '3', '4']
      const ids = await Promise.all(keys.map((key) => reserve(old, key)))
      // In a batch.
      await Promise.all(keys.map((key, i) => old.confirm({ ...at(key), id: ids[i]!, scope: 'ann', size: 5 })))
      await old.remove({ ...at('1'), scope: 'ann' })
      await old.remove({ ...at('2'), scope: 'ann', mode: 'hard' })
      await old.purgeDeleted({ before: later() })
      await reserve(old, '5')
      await release.postgresAdapter(pool, { schema, now: () => later() }).purgeExpired()
      const delivered: StoredEvent[] = []
      for (let events; (events = await store.claimEvents()).length > 0;) {
        await store.settleEvents(events)
        delivered.push(...events)
      }
      const ofKey = (key: string) =>
        delivered
          .filter(({ object }) => object.key === key)
          .map(({ type, object, previous }) => [type, object.attemptId, previous?.attemptId ?? null])
      expect(ofKey('1')).toEqual([
        ['activated', first, null],
        ['activated', second, first],
        ['activated', ids[0], second],
        ['deleted', ids[0], null],
      ])
      expect(ofKey('2')).toEqual([
        ['activated', ids[1], null],
        ['deleted', ids[1], null],
      ])
      expect(delivered).toHaveLength(8)
    })

    it('needs its owner to migrate, and no more grants than those of version 1.5 for everything else', async () => {
      const suffix = createAttemptId().slice(-12)
      const [owner, worker] = [`owner_${suffix}`, `worker_${suffix}`]
      await dropSchema(pool, schema)
      await pool.query(`CREATE ROLE ${owner} LOGIN; CREATE ROLE ${worker} LOGIN`)
      await pool.query(`CREATE SCHEMA ${quoted(schema)} AUTHORIZATION ${owner}`)
      try {
        await asRole(url, owner, async (owners) => {
          await owners.query(release.postgresSchema({ schema }))
          await owners.query(`GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${worker}`)
          await owners.query(`GRANT SELECT ON ALL TABLES IN SCHEMA ${quoted(schema)} TO ${worker}`)
          for (const table of ['objects', 'scope_usage', 'leftovers']) {
            await owners.query(`GRANT INSERT, UPDATE, DELETE ON ${quoted(schema)}.${table} TO ${worker}`)
          }
          expect(await postgresAdapter(owners, { schema }).migrate()).toEqual({ from: 1, to: SCHEMA.version })
        })
        await asRole(url, worker, async (workers) => {
          const working = postgresAdapter(workers, { schema })
          expect(await working.migrate()).toEqual({ from: SCHEMA.version, to: SCHEMA.version })
          expect(await working.verify()).toEqual([])
          // Its rights on the table of leftovers hold for the new tables as well.
          const { id } = await working.reserve({ ...attempt('2', 'ann'), temporarySeconds: 60 })
          await working.confirm({ ...at('2'), id, size: 5 })
          expect(await working.keep({ scope: 'ann', objects: [{ id }] })).toMatchObject([
            { temporaryUntil: null },
          ])
          await upload(working, '1')
          await working.remove(at('1'))
          expect(await working.countByScope('ann', 'deleted')).toBe(1)
          expect(await working.purgeDeleted({ scope: 'ann', before: new Date() })).toBe(1)
          const [leftover] = await working.listLeftovers({ scope: 'ann', dueBefore: new Date() })
          expect(await working.deferLeftover({ ...leftover!, until: later() })).toBe(true)
          expect(await working.repairUsage()).toEqual([])
        })
      } finally {
        await dropSchema(pool, schema)
        await pool.query(`DROP ROLE ${owner}; DROP ROLE ${worker}`)
      }
    })
  })
})
