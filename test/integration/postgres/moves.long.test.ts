import { execFileSync } from 'node:child_process'
import type { StorageObjectStore } from '@svc/db'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import { createDatabase, type FreshDatabase } from '../../servers/fresh-database.js'
import { installedProgram } from '../../servers/installed-program.js'
import { startPrivateCluster, type PrivateCluster } from '../../servers/private-cluster.js'
import { hasRelease, releasedPostgres } from '../upgrade/released-source.js'
import { attempt, BUCKET } from './attempt.js'
import { asRole, describePrivatePostgres, poolOf } from './schemas.js'

const NOT_MIGRATED =
  'The database schema is missing, renamed or older than this release needs. Run migrate().'
const ROW_IS_MISSING = 'Missing: the row of the table schema_version. Run migrate().'
const SEQUENCE_IS_BEHIND = 'The sequence of events.id is behind the events that wait. Run migrate().'
const RENAMED = 'The schema "moved" was migrated as "svc_db", the name that its functions use. Run migrate().'

const upload = async (store: StorageObjectStore, key: string, size = 5) => {
  await store.reserve(attempt(key))
  return store.confirm({ bucket: BUCKET, key, size })
}

/** Returns 'work', or the message of the error that calls reject with. */
const outcomeOfCalls = (store: StorageObjectStore, key: string) =>
  upload(store, key).then(
    () => 'work',
    ({ message }: Error) => message,
  )

const pgDump = installedProgram('pg_dump')
const psql = installedProgram('psql')

/** Returns the SQL that pg_dump prints. Its own settings are the defaults of a session. */
const dump = (url: string, ...options: string[]) =>
  execFileSync(pgDump!, [...options, url], { encoding: 'utf8', maxBuffer: 1e8 })
/** Runs the SQL and continues after errors, as psql does. */
const restore = (url: string, sql: string) =>
  execFileSync(psql!, ['-q', url], { input: sql, stdio: ['pipe', 'ignore', 'ignore'] })

interface Move {
  readonly title: string
  /** What runs in the empty database before a dump of the other one is restored. */
  readonly before?: string
  /** The options of the dump. Default: none, for a dump of everything. */
  readonly dump?: readonly string[]
  /** What happens to the restored database. A function also gets the SQL of the dump. */
  readonly after?: string | ((to: FreshDatabase, sql: string) => unknown)
  /** The new name of the schema. Default: the old one. */
  readonly schema?: string
  /** The outcome of calls before anything is mended. Default: they work. */
  readonly calls?: string
  /** What `verify()` returns before that. Default: nothing. */
  readonly findings?: readonly string[]
  /** Whether the rows were left behind. */
  readonly isEmpty?: boolean
  /** Whether the switch of events was left behind. */
  readonly isOff?: boolean
  /** What mends it. Default: `migrate()`. */
  readonly tools?: readonly ('migrate()' | 'postgresSchema()')[]
}

const BOTH = ['migrate()', 'postgresSchema()'] as const
const TABLES = ['objects', 'scope_usage', 'leftovers', 'terms', 'rejections', 'events', 'schema_version']
/** A list of expectations that must each be met by some finding. */
const some = (...findings: unknown[]) => expect.arrayContaining(findings) as string[]

const MOVES: Move[] = [
  { title: 'a dump of everything' },
  {
    title: 'a dump of the structure alone',
    dump: ['--schema-only'],
    findings: [ROW_IS_MISSING],
    isEmpty: true,
    tools: BOTH,
  },
  {
    title: 'a dump of the data alone',
    before: postgresSchema({ events: true }),
    dump: ['--data-only', '--disable-triggers', '--exclude-table=svc_db.schema_version'],
  },
  {
    title: 'a dump of the table of objects alone',
    before: 'CREATE SCHEMA svc_db',
    dump: ['--table=svc_db.objects'],
    calls: NOT_MIGRATED,
    findings: some(
      'The schema has version 1, but this code needs version 2. Run migrate().',
      'Missing: table leftovers.',
    ),
    isOff: true,
  },
  {
    title: 'TRUNCATE of all tables',
    after: `TRUNCATE ${TABLES.map((table) => `svc_db.${table}`).join()}`,
    findings: [ROW_IS_MISSING],
    isEmpty: true,
  },
  {
    title: 'another name',
    after: 'ALTER SCHEMA svc_db RENAME TO moved',
    schema: 'moved',
    calls: NOT_MIGRATED,
    findings: [RENAMED],
    tools: BOTH,
  },
  {
    title: 'another name, beside a new schema of the old one',
    after: `ALTER SCHEMA svc_db RENAME TO moved; ${postgresSchema()}`,
    schema: 'moved',
    calls: NOT_MIGRATED,
    findings: [RENAMED],
  },
  {
    title: 'a copy beside the original, from an edited dump',
    after: ({ url }, sql) => restore(url, sql.replaceAll('svc_db', 'copy')),
    schema: 'copy',
    calls: NOT_MIGRATED,
    // The edit has also changed the names of settings in two functions.
    findings: some(expect.stringMatching(/^Missing: type schema_v2_/)),
  },
  {
    title: 'a copy of the tables beside the original, with its triggers',
    async after(to) {
      await to.query('CREATE SCHEMA copy')
      for (const table of TABLES) {
        await to.query(`CREATE TABLE copy.${table} (LIKE svc_db.${table} INCLUDING ALL)`)
        await to.query(`INSERT INTO copy.${table} OVERRIDING SYSTEM VALUE SELECT * FROM svc_db.${table}`)
      }
      const { rows } = await to.query(
        `SELECT pg_get_triggerdef(oid) AS sql FROM pg_trigger WHERE NOT tgisinternal`,
      )
      for (const { sql } of rows) await to.query(String(sql).replace('ON svc_db.', 'ON copy.'))
    },
    schema: 'copy',
    calls: NOT_MIGRATED,
    findings: some(
      expect.stringMatching(/^Differs: trigger record_update .* another record_event_v1\)/),
      expect.stringMatching(/^Missing: function reserve_v1/),
    ),
  },
  {
    title: 'a table that was dropped',
    after: 'DROP TABLE svc_db.objects CASCADE',
    calls: NOT_MIGRATED,
    findings: some('Missing: table objects.'),
    isEmpty: true,
    isOff: true,
  },
  {
    title: 'an index, a type and a function that were dropped',
    after: `DROP INDEX svc_db.objects_live; DROP INDEX svc_db.leftovers_due;
      DROP FUNCTION svc_db.list_scopes_v1; DROP TYPE svc_db.scope_write_v1 CASCADE`,
    findings: some(
      'Missing: index objects_live.',
      'Missing: index leftovers_due.',
      'Missing: type scope_write_v1.',
      'Missing: function list_scopes_v1(text, text, text, integer).',
    ),
    tools: BOTH,
  },
]

describePrivatePostgres('a schema that was moved', (programs) => {
  if (pgDump === null || psql === null) return it.skip('needs pg_dump and psql', () => {})

  let clusters: { cluster: PrivateCluster; remove(): Promise<void> }[] = []
  let source: FreshDatabase
  beforeAll(async () => {
    const settings = ['wal_level=logical']
    clusters = await Promise.all([
      startPrivateCluster(programs, settings),
      startPrivateCluster(programs, settings),
    ])
    source = await createDatabase(clusters[0]!.cluster.url)
    await withPool(source, async (pool) => {
      const store = postgresAdapter(pool, { events: true })
      await store.migrate()
      await upload(store, 'kept')
      await upload(store, 'removed')
      await store.remove({ bucket: BUCKET, key: 'removed' })
    })
  })
  afterAll(() => Promise.all(clusters.map((each) => each.remove())))

  async function withPool<T>({ url }: { url: string }, use: (pool: pg.Pool) => Promise<T>): Promise<T> {
    const pool = poolOf(url)
    return use(pool).finally(() => pool.end())
  }

  it.skipIf(!hasRelease())(
    'by a new name before it was upgraded from 1.5.5 is named and restored',
    async () => {
      const release = await releasedPostgres()
      const target = await createDatabase(clusters[1]!.cluster.url)
      await target.query(release.postgresSchema({ schema: 'svc_db' }))
      await target.query('ALTER SCHEMA svc_db RENAME TO moved')
      await withPool(target, async (pool) => {
        const store = postgresAdapter(pool, { schema: 'moved' })
        const versions = 'The schema has version 1, but this code needs version 2. Run migrate().'
        expect(await store.verify()).toEqual(some(RENAMED, versions))
        await store.migrate()
        expect(await store.verify()).toEqual([])
        expect(await outcomeOfCalls(store, 'after')).toBe('work')
      })
    },
  )

  const cases = MOVES.flatMap(({ tools = ['migrate()'], ...move }) =>
    tools.map((tool) => ({ ...move, tool })),
  )
  it.each(cases)('by $title is reported by verify() and restored by $tool', async ({ tool, ...given }) => {
    const { schema = 'svc_db', calls = 'work', findings = [], isEmpty = false, isOff = false } = given
    const target = await createDatabase(clusters[1]!.cluster.url)
    if (given.before) await target.query(given.before)
    const sql = dump(source.url, ...(given.dump ?? []))
    restore(target.url, sql)
    if (typeof given.after === 'string') await target.query(given.after)
    else await given.after?.(target, sql)
    const sums =
      'SELECT (SELECT count(*) FROM svc_db.objects) AS rows, (SELECT max(id) FROM svc_db.events) AS event'
    const contents = async () => (await target.query(sums)).rows as unknown[]
    const original = schema === 'svc_db' ? null : await contents().catch(() => null)

    await withPool(target, async (pool) => {
      const store = postgresAdapter(pool, { schema })
      expect(await store.verify()).toEqual(findings)
      expect(await outcomeOfCalls(store, 'before')).toBe(calls)

      if (tool === 'migrate()') await Promise.all([store.migrate(), store.migrate(), store.migrate()])
      else await pool.query(postgresSchema({ schema }))
      expect(await store.verify()).toEqual([])
      expect(await store.migrate()).toEqual({ from: 2, to: 2 })
      expect(await outcomeOfCalls(store, 'after')).toBe('work')
      const kept = await store.findActive({ bucket: BUCKET, key: 'kept' })
      expect(kept === null).toBe(isEmpty)
      // The events of an object have one lock, whatever name the schema had when they were recorded.
      await upload(store, 'kept')
      const { items } = await store.listEvents({ limit: 100 })
      const objects = new Set(items.map(({ id }) => id.slice(0, id.lastIndexOf('.'))))
      expect(objects.size).toBe(new Set(items.map(({ object }) => object.key)).size)
      await store.repairUsage()
      expect(await store.checkUsage()).toEqual([])
      const events = await store.claimEvents({ limit: 100 })
      expect(await store.settleEvents(events)).toHaveLength(events.length)
      expect(events.some(({ object }) => object.key === 'after')).toBe(!isOff)
    })
    // No call wrote to the schema that has the old name.
    if (original !== null) expect(await contents()).toEqual(original)
    await target.drop()
  })

  it('by logical replication keeps the order of its events', async () => {
    const [from, to] = await Promise.all(clusters.map(({ cluster }) => createDatabase(cluster.url)))
    const keys = Array.from({ length: 31 }, (_, index) => `${index}`)
    await withPool(from!, async (pool) => {
      const store = postgresAdapter(pool, { events: true })
      await store.migrate()
      // Their numbers are free again, and lower than those of the events that wait.
      for (const key of keys.slice(0, 10)) await upload(store, `${key} before`)
      await store.settleEvents(await store.claimEvents({ limit: 100 }))
      for (const key of keys) {
        await upload(store, key, 1)
        await upload(store, key, 2)
      }
    })
    restore(to!.url, dump(from!.url, '--schema-only'))
    await from!.query('CREATE PUBLICATION move FOR ALL TABLES')
    const connection = from!.url.replace('postgres:', 'postgresql:')
    await to!.query(`CREATE SUBSCRIPTION move CONNECTION '${connection}' PUBLICATION move`)
    const states = 'SELECT DISTINCT srsubstate::text AS state FROM pg_subscription_rel'
    await expect.poll(async () => (await to!.query(states)).rows).toEqual([{ state: 'r' }])
    await to!.query('DROP SUBSCRIPTION move')

    await withPool(to!, async (pool) => {
      const store = postgresAdapter(pool)
      expect(await store.verify()).toEqual([SEQUENCE_IS_BEHIND])
      await Promise.all(keys.map((key) => upload(store, key, 3)))
      expect(await store.verify()).toEqual([])
      const delivered = new Map(keys.map((key) => [key, [] as (number | null)[]]))
      for (;;) {
        const events = await store.claimEvents({ limit: 100 })
        if (events.length === 0) break
        for (const { object } of events) delivered.get(object.key)!.push(object.size)
        await store.settleEvents(events)
      }
      expect(delivered).toEqual(new Map(keys.map((key) => [key, [1, 2, 3]])))

      await upload(store, 'last')
      await pool.query('ALTER SEQUENCE svc_db.events_id_seq RESTART')
      expect(await store.verify()).toEqual([SEQUENCE_IS_BEHIND])
      await store.migrate()
      expect(await store.verify()).toEqual([])
    })
    await Promise.all([from!.drop(), to!.drop()])
  })

  describe('and the rights on it', () => {
    const PERMISSION = 'The database role lacks a permission that the adapter needs.'
    const right = (name: string, table: string) =>
      `Missing: the ${name} privilege of this role on the table ${table}.`
    const ROW_SECURITY = ['leftovers', 'objects', 'schema_version', 'scope_usage'].map(
      (table) =>
        `Row security is on for the table ${table}, and hides rows. ` +
        `Run ALTER TABLE "svc_db".${table} DISABLE ROW LEVEL SECURITY.`,
    )
    const WRITES =
      'INSERT, UPDATE, DELETE ON svc_db.objects, svc_db.scope_usage, svc_db.leftovers, svc_db.terms, svc_db.rejections'
    const READS = 'USAGE ON SCHEMA svc_db TO app; GRANT SELECT ON ALL TABLES IN SCHEMA svc_db TO app'
    const ALL = `GRANT ${READS}; GRANT ${WRITES} TO app`

    /** Runs `use` as a new role on a new schema, after the SQL has granted it rights. */
    async function asApp(
      sql: string,
      use: (store: StorageObjectStore, database: FreshDatabase) => Promise<void>,
      events = false,
    ): Promise<void> {
      const database = await createDatabase(clusters[1]!.cluster.url)
      try {
        await database.query(`CREATE ROLE app LOGIN; ${postgresSchema({ events })}; ${sql}`)
        await asRole(database.url, 'app', (pool) => use(postgresAdapter(pool), database))
      } finally {
        await database.query('DROP OWNED BY app; DROP ROLE app')
        await database.drop()
      }
    }

    it.each([
      {
        title: 'may not write events, which are on',
        sql: ALL,
        events: true,
        calls: PERMISSION,
        findings: ['DELETE', 'INSERT', 'UPDATE'].map((name) =>
          right(name, 'events, which is needed while events are on'),
        ),
      },
      {
        title: 'only reads',
        sql: `GRANT ${READS}`,
        calls: PERMISSION,
        findings: [
          ...['DELETE', 'INSERT', 'UPDATE'].map((name) => right(name, 'leftovers')),
          ...['DELETE', 'INSERT', 'UPDATE'].map((name) => right(name, 'objects')),
          ...['DELETE', 'INSERT', 'UPDATE'].map((name) => right(name, 'rejections')),
          ...['INSERT', 'UPDATE'].map((name) => right(name, 'scope_usage')),
          ...['DELETE', 'INSERT', 'UPDATE'].map((name) => right(name, 'terms')),
        ],
      },
      {
        title: 'may do nothing',
        sql: '',
        calls: PERMISSION,
        findings: some(
          'Missing: the USAGE privilege of this role on the schema "svc_db".',
          right('SELECT', 'schema_version'),
        ),
      },
      {
        title: 'was the owner',
        sql: `ALTER SCHEMA svc_db OWNER TO app;
          ALTER TABLE svc_db.objects OWNER TO app; REASSIGN OWNED BY app TO postgres`,
        calls: PERMISSION,
        findings: some(right('SELECT', 'schema_version')),
      },
      {
        title: 'may call no function',
        sql: `${ALL}; REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA svc_db FROM PUBLIC`,
        calls: PERMISSION,
        findings: some(
          expect.stringMatching(
            /^Missing: the EXECUTE privilege of this role on the function reserve_v2\(uuid, /,
          ),
        ),
      },
      {
        title: 'has another isolation level',
        sql: `${ALL}; ALTER ROLE app SET default_transaction_isolation = 'repeatable read'`,
        calls:
          'Writes of the adapter need the isolation level READ COMMITTED. Check the transaction that you opened, or default_transaction_isolation.',
        findings: [
          'Writes need the isolation level READ COMMITTED (got REPEATABLE READ). Reset default_transaction_isolation.',
        ],
      },
      {
        title: 'sees no row because of row security',
        sql: `${ALL}; ${['objects', 'scope_usage', 'leftovers', 'schema_version']
          .map((table) => `ALTER TABLE svc_db.${table} ENABLE ROW LEVEL SECURITY`)
          .join(';')}`,
        calls: PERMISSION,
        findings: ROW_SECURITY,
      },
    ])('are reported by verify() to a role that $title', ({ sql, calls, findings, events }) =>
      asApp(
        sql,
        async (store) => {
          expect(await store.verify()).toEqual(findings)
          // There is nothing to migrate, and a role that doesn't own the schema restores nothing.
          expect(await store.migrate()).toEqual({ from: 2, to: 2 })
          expect(await outcomeOfCalls(store, 'a')).toBe(calls)
        },
        events,
      ),
    )

    it('let a role without rights on the sequence of events record and settle them', () =>
      asApp(
        `${ALL}; GRANT INSERT, UPDATE, DELETE ON svc_db.events TO app`,
        async (store, database) => {
          await upload(store, 'a', 1)
          await upload(store, 'a', 2)
          await database.query('ALTER SEQUENCE svc_db.events_id_seq RESTART')
          await upload(store, 'a', 3)
          const { items } = await store.listEvents()
          expect(items.map(({ object }) => object.size)).toEqual([1, 2, 3])
          expect(await store.settleEvents(await store.claimEvents())).toEqual([items[0]!.id])
        },
        true,
      ))
  })
})
