import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { createDatabase, type FreshDatabase } from '../../servers/fresh-database.js'
import { describePostgres, poolOf } from '../postgres/schemas.js'
import { blocksOf } from './documents.js'
import { expectToServe } from './store-programs.js'

describePostgres('the SQL of docs/postgres.md', (serverUrl) => {
  // Roles are global to the server, which other tests share.
  const suffix = randomBytes(6).toString('hex')
  const [roles, grants, eventGrants, watch, neverScans, uninstall, ...others] = blocksOf(
    'docs/postgres.md',
    'sql',
  ).map((code) => code.replace(/\bfiles_(?:owner|app)\b/g, `$&_${suffix}`))
  let database: FreshDatabase
  beforeEach(async () => {
    database = await createDatabase(serverUrl)
  })
  afterEach(() => database.drop())

  function as(role: string): string {
    const url = new URL(database.url)
    url.username = `${role}_${suffix}`
    url.password = ''
    return url.href
  }

  it('creates the roles, grants rights, watches, turns off sequential scans and uninstalls', () => {
    expect([roles, grants, eventGrants, watch, neverScans, uninstall]).toEqual([
      expect.stringContaining('CREATE ROLE'),
      expect.stringContaining('GRANT'),
      expect.stringContaining('svc_db.events TO'),
      expect.stringContaining('backend_xmin'),
      expect.stringContaining('enable_seqscan'),
      expect.stringContaining('DROP SCHEMA'),
    ])
    expect(others).toEqual([])
  })

  it('gives the application role what requests and jobs need, and removes everything', async () => {
    await database.query(roles!)
    await database.query(neverScans!)
    const owners = poolOf(as('files_owner'), { max: 1 })
    const pool = poolOf(as('files_app'), { max: 2 })
    try {
      await postgresAdapter(owners).migrate()
      await owners.query(grants!)

      const store = postgresAdapter(pool)
      const { from, to } = await store.migrate()
      expect(from).toBe(to)
      await expectToServe(store)

      // As a role has it that was created for 1.5.5.
      const application = `files_app_${suffix}`
      await owners.query(`REVOKE ALL ON svc_db.events FROM ${application}`)
      await postgresAdapter(owners, { events: true }).migrate()
      expect(await store.verify()).toEqual(
        ['DELETE', 'INSERT', 'SELECT', 'UPDATE'].map(
          (name) => expect.stringContaining(`the ${name} privilege`) as string,
        ),
      )
      await owners.query(eventGrants!)
      expect(await store.verify()).toEqual([])
      await expectToServe(store)
      // pg returns an array for several statements.
      const watched = (await pool.query(watch!)) as unknown as pg.QueryResult<Record<string, unknown>>[]
      expect(watched.at(1)!.rows).toContainEqual(expect.objectContaining({ relname: 'objects' }))
      expect(watched.at(2)!.rows).toEqual([{ waiting: expect.anything() as unknown }])
      const events = await store.claimEvents()
      expect(events.length).toBeGreaterThan(0)
      expect(await store.settleEvents(events)).toHaveLength(events.length)
      await expect(pool.query('DROP TABLE svc_db.objects')).rejects.toMatchObject({ code: '42501' })
      await expect(pool.query('UPDATE svc_db.schema_version SET version = 0')).rejects.toMatchObject({
        code: '42501',
      })
    } finally {
      await pool.end()
      await owners.end()
      await database.query(uninstall!)
    }
    expect(await remaining()).toEqual([])
  })

  it('suffices where new functions and types are closed to PUBLIC, also for those of a later release', async () => {
    await database.query(roles!)
    const owners = poolOf(as('files_owner'), { max: 1 })
    const pool = poolOf(as('files_app'), { max: 2 })
    const closed = (what: string) => `ALTER DEFAULT PRIVILEGES REVOKE ${what} FROM PUBLIC`
    try {
      await owners.query(`${closed('EXECUTE ON FUNCTIONS')}; ${closed('USAGE ON TYPES')}`)
      await postgresAdapter(owners, { events: true }).migrate()
      await owners.query(grants!)
      const store = postgresAdapter(pool)
      expect(await store.verify()).toEqual([])
      await expectToServe(store)

      await owners.query(`CREATE TABLE svc_db.later (id int);
        CREATE FUNCTION svc_db.later_v1() RETURNS int LANGUAGE sql AS 'INSERT INTO svc_db.later VALUES (1) RETURNING id'`)
      expect((await pool.query('SELECT svc_db.later_v1() AS id')).rows).toEqual([{ id: 1 }])
    } finally {
      await pool.end()
      await owners.query('ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC')
      await owners.query('ALTER DEFAULT PRIVILEGES GRANT USAGE ON TYPES TO PUBLIC')
      await owners.end()
      await database.query(uninstall!)
    }
    expect(await remaining()).toEqual([])
  })

  async function remaining(): Promise<unknown[]> {
    const { rows } = await database.query(`SELECT rolname FROM pg_roles WHERE rolname LIKE '%${suffix}'`)
    return rows
  }
})
