import { createServer, type AddressInfo } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { postgresPrograms, startPrivateCluster } from '../../servers/private-cluster.js'
import { freePort } from '../../servers/private-server.js'
import { describePostgres, freshSchema, poolOf, quoted, dropSchema } from '../postgres/schemas.js'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'
import { buildCommand, jsonLines } from './command.js'
import { ENCODED, expectNoPassword } from './secret-password.js'

const command = buildCommand()

describe('an unreachable server', () => {
  it('exits with 3 and shows the cause without the password', async () => {
    const port = await freePort()
    const ran = await command.run([
      'usage',
      'user:1',
      '--url',
      `postgres://app:${ENCODED}@127.0.0.1:${port}/files`,
    ])
    expect(ran).toMatchObject({ exitCode: 3, stdout: '' })
    expect(ran.stderr).toContain(`postgres://app:***@127.0.0.1:${port}/files`)
    expect(ran.stderr).toContain('ECONNREFUSED')
    expectNoPassword(ran)
  })

  it('accepts the URL of a socket', async () => {
    const url = `postgres://app:${ENCODED}@/files?host=/nowhere/project:region:instance`
    const ran = await command.run(['verify', '--url', url])
    expect(ran.exitCode).toBe(3)
    expect(ran.stderr).toContain('/nowhere/project:region:instance')
    expectNoPassword(ran)
  })

  it('exits with 3 for a host name that does not resolve', async () => {
    const ran = await command.run(['verify', '--url', `postgres://app:${ENCODED}@nowhere.invalid/files`])
    expect(ran.exitCode).toBe(3)
    expect(ran.stderr).toContain('nowhere.invalid')
    expectNoPassword(ran)
  })

  it.each(['usage user:1', 'migrate', 'verify', 'check-usage'])(
    'exits with 3 for %s on MongoDB',
    async (line) => {
      const port = await freePort()
      const url = `mongodb://app:${ENCODED}@127.0.0.1:${port}/files`
      const ran = await command.run([...line.split(' '), '--connect-timeout', '0.3', '--url', url])
      expect(ran).toMatchObject({ exitCode: 3, stdout: '' })
      expect(ran.stderr).toContain(`mongodb://app:***@127.0.0.1:${port}/files`)
      // The driver retries until its time limit and reports the last error, if there was one by then.
      expect(ran.stderr).toMatch(/ECONNREFUSED|timed out/)
      const lines = ran.stderr.split('\n')
      expect(lines).toEqual([...new Set(lines)])
      expectNoPassword(ran)
    },
  )

  it('exits with 3 for a MongoDB cluster name without a DNS entry', async () => {
    const ran = await command.run([
      'verify',
      '--url',
      `mongodb+srv://app:${ENCODED}@db.nowhere.invalid/files`,
    ])
    expect(ran).toMatchObject({ exitCode: 3, stdout: '' })
    expect(ran.stderr).toContain('nowhere.invalid')
    expectNoPassword(ran)
  })

  it.each(['postgres', 'mongodb'])(
    'exits with 3 within the time limit when a %s server accepts the connection but never responds',
    async (protocol) => {
      const silent = createServer(() => undefined).listen(0, '127.0.0.1')
      await new Promise((resolve) => silent.once('listening', resolve))
      try {
        const { port } = silent.address() as AddressInfo
        const url = `${protocol}://app:${ENCODED}@127.0.0.1:${port}/files`
        const ran = await command.run(['list', 'user:1', '--connect-timeout', '0.3', '--url', url])
        expect(ran).toMatchObject({ exitCode: 3, stdout: '' })
        expect(ran.stderr).toMatch(/time(?:d )?out/)
        expectNoPassword(ran)
      } finally {
        silent.close()
      }
    },
  )

  it('reports the error as JSON with --json', async () => {
    const port = await freePort()
    const ran = await command.run(['verify', '--json'], {
      DATABASE_URL: `postgres://127.0.0.1:${port}/files`,
    })
    expect(ran).toMatchObject({ exitCode: 3, stdout: '' })
    expect(jsonLines(ran.stderr)).toEqual([
      { error: { message: 'The database is unavailable.', hints: expect.any(Array) as unknown[] } },
    ])
  })
})

describePostgres('a database that is not usable', (url) => {
  const pool = poolOf(url)
  afterAll(() => pool.end())

  it('exits with 5 when the database does not exist', async () => {
    const target = new URL(url)
    target.pathname = '/not_there'
    const ran = await command.run(['usage', 'user:1'], { DATABASE_URL: target.href })
    expect(ran).toMatchObject({ exitCode: 5, stdout: '' })
    expect(ran.stderr).toContain('The database does not exist.')
  })

  it('exits with 5 and suggests migrate when the schema was never migrated', async () => {
    for (const args of [
      ['usage', 'user:1'],
      ['list', 'user:1'],
      ['leftovers'],
      ['check-usage'],
      ['repair-usage'],
    ]) {
      const ran = await command.run([...args, '--schema', 'never_migrated'], { DATABASE_URL: url })
      expect(ran).toMatchObject({ exitCode: 5, stdout: '' })
      expect(ran.stderr).toContain('Run: svc-db migrate --schema never_migrated\n')
    }
    const verified = await command.run(['verify', '--schema', 'never_migrated'], { DATABASE_URL: url })
    expect(verified).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining('was never migrated') as string,
    })
  })

  it('prints no summary of work that never started', async () => {
    for (const args of [['leftovers'], ['purge-deleted', '--before', '2026-01-01']]) {
      const ran = await command.run([...args, '--schema', 'never_migrated'], { DATABASE_URL: url })
      expect(ran.stderr).toMatch(/^svc-db: The database schema is missing[\s\S]*\(schema never_migrated\)\n/)
    }
  })

  it('prints driver warnings as JSON with --json', async () => {
    const target = new URL(url)
    target.searchParams.set('sslmode', 'require')
    const { stderr } = await command.run(['usage', 'user:1', '--json'], { DATABASE_URL: target.href })
    expect(jsonLines(stderr)).toEqual([
      { message: expect.stringMatching(/^SECURITY WARNING/) as string },
      { error: expect.any(Object) as object },
    ])
  })

  it('refuses a schema that a newer release has migrated', async () => {
    const schema = freshSchema()
    await postgresAdapter(pool, { schema }).migrate()
    try {
      await pool.query(`UPDATE ${quoted(schema)}.schema_version SET version = 99, min_compatible = 99`)
      const migrated = await command.run(['migrate', '--schema', schema], { DATABASE_URL: url })
      expect(migrated).toMatchObject({ exitCode: 5, stdout: '' })
      expect(migrated.stderr).toContain('Use a newer release')
      const verified = await command.run(['verify', '--schema', schema], { DATABASE_URL: url })
      expect(verified).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('version 99') as string })
    } finally {
      await dropSchema(pool, schema)
    }
  })
})

const programs = postgresPrograms()
const describeCluster = programs === null ? describe.skip : describe
describeCluster(
  `a server that requires a password${programs === null ? ' (PostgreSQL is not installed)' : ''}`,
  () => {
    it('exits with 5 for a wrong password', async () => {
      const started = await startPrivateCluster(programs!)
      const { cluster } = started
      const pool = poolOf(cluster.url)
      try {
        await pool.query(`CREATE ROLE app LOGIN PASSWORD 'right'`)
        const { rows } = await pool.query<{ hba_file: string }>('SHOW hba_file')
        await pool.query(`COPY (SELECT 'host all app all scram-sha-256') TO '${rows[0]!.hba_file}'`)
        await pool.query('SELECT pg_reload_conf()')
        const target = new URL(cluster.url)
        target.username = 'app'
        target.password = ENCODED
        const refused = await command.run(['verify'], { DATABASE_URL: target.href })
        expect(refused).toMatchObject({ exitCode: 5, stdout: '' })
        expect(refused.stderr).toContain('The database rejected the login.')
        expect(refused.stderr).toContain('Check user and password')
        expectNoPassword(refused)

        target.password = 'right'
        const accepted = await command.run(['verify'], { DATABASE_URL: target.href })
        expect(accepted).toMatchObject({
          exitCode: 1,
          stdout: expect.stringContaining('never migrated') as string,
        })
      } finally {
        await pool.end()
        await started.remove()
      }
    })
  },
)
