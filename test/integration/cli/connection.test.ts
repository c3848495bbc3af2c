import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresPrograms, startPrivateCluster } from '../../servers/private-cluster.js'
import { freePort } from '../../servers/private-server.js'
import { describePostgres, freshSchema, poolOf, quoted, dropSchema } from '../postgres/places.js'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'
import { buildCommand, jsonLines, type BuiltCommand } from './command.js'

const PASSWORD = 'p@ss/word#1'
const ENCODED = encodeURIComponent(PASSWORD)

let command: BuiltCommand
beforeAll(async () => {
  command = await buildCommand()
})
afterAll(() => command.remove())

function expectNoPassword({ stdout, stderr }: { stdout: string; stderr: string }): void {
  for (const secret of [PASSWORD, ENCODED, 'word#1']) expect(stdout + stderr).not.toContain(secret)
}

describe('a call that is wrong', () => {
  it.each([
    ['names no command', [], /Usage: svc-db/],
    ['names an unknown command', ['lst', 'user:1'], /unknown command 'lst'[\s\S]*Did you mean list\?/],
    ['names an unknown option', ['verify', '--jsn'], /unknown option '--jsn'[\s\S]*--json/],
    ['leaves out the scope', ['usage'], /missing required argument 'scope'/],
    ['has too many arguments', ['usage', 'user:1', 'user:2'], /too many arguments/],
    [
      'names an unknown status',
      ['list', 'user:1', '--status', 'gone'],
      /Allowed choices are pending, active, deleted/,
    ],
    ['has a limit that is none', ['list', 'user:1', '--limit', '0'], /whole number from 1/],
    ['has a timeout that is none', ['verify', '--connect-timeout', 'soon'], /number of seconds/],
    ['leaves out the date', ['purge-deleted'], /required option '--before <date>'/],
    ['names no database', ['verify'], /No database is named[\s\S]*DATABASE_URL/],
    [
      'names another kind of database',
      ['verify', '--url', 'mysql://u:secret@h/d'],
      /mysql:\/\/ names no database/,
    ],
    [
      'has MongoDB’s option for Postgres',
      ['verify', '--url', 'postgres://h/d', '--prefix', 'x'],
      /use --schema/,
    ],
    [
      'names a schema that can’t be one',
      ['verify', '--url', 'postgres://h/d', '--schema', 'pg_x'],
      /--schema must not begin/,
    ],
    [
      'names a port that is none',
      ['verify', '--url', 'postgres://u:secret@h:99999/d'],
      /host or port that is none/,
    ],
    [
      'has Postgres’ option for MongoDB',
      ['verify', '--url', 'mongodb://h/d', '--schema', 'x'],
      /use --prefix/,
    ],
    [
      'names a prefix that can’t be one',
      ['verify', '--url', 'mongodb://h/d', '--prefix', 'a$b'],
      /--prefix must be at most 100 bytes/,
    ],
    [
      'names no database in a server of MongoDB',
      ['verify', '--url', 'mongodb://u:secret@a:1,b:2/?replicaSet=r'],
      /names no database[\s\S]*authSource/,
    ],
    [
      'has a URL that the driver of MongoDB refuses',
      ['verify', '--url', 'mongodb://u:secret@h/d?tls=perhaps&x=secret'],
      /driver refuses the URL/,
    ],
    [
      'names a database that MongoDB can’t have',
      ['verify', '--url', 'mongodb://u:secret@h/a.b'],
      /driver refuses the URL/,
    ],
    [
      'has an option of MongoDB that needs another',
      ['verify', '--url', 'mongodb://u:secret@a,b/d?directConnection=true'],
      /driver refuses the URL/,
    ],
  ] as const)('ends with 2 and says so where it %s', async (_, args, message) => {
    const ran = await command.run(args)
    expect({ exitCode: ran.exitCode, stdout: ran.stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(ran.stderr).toMatch(message)
    expect(ran.stderr).not.toContain('secret')
  })

  it.each(['2026-02-31', '2026-01-31T12:00:00', 'yesterday', '31.1.2026', '9999-01-01', ''])(
    'ends with 2 for the date %j',
    async (date) => {
      const ran = await command.run(['purge-deleted', '--before', date])
      expect(ran).toMatchObject({ exitCode: 2, stdout: '' })
      expect(ran.stderr).toMatch(/It must be a date|It lies in the future/)
    },
  )

  it.each([
    [['lst', '--json'], "unknown command 'lst'", ['(Did you mean list?)']],
    [['usage', '--json'], "missing required argument 'scope'", []],
    [['--json'], 'The call names no command, or one that there is not.', []],
    [['help', 'lst', '--json'], 'The call names no command, or one that there is not.', []],
  ])('tells a program in JSON what is wrong with %j', async (args, message, hints) => {
    const ran = await command.run(args)
    expect(ran).toMatchObject({ exitCode: 2, stdout: '' })
    expect(jsonLines(ran.stderr)).toEqual([{ error: { message, hints: [...hints, 'Help: svc-db --help'] } }])
  })

  it('ends with 2 where both variables are set', async () => {
    const both = { DATABASE_URL: 'postgres://h/d', MONGODB_URL: 'mongodb://h/d' }
    const ran = await command.run(['verify'], both)
    expect(ran.exitCode).toBe(2)
    expect(ran.stderr).toContain('both set')
  })

  it.each([
    ['before its host', `postgres://u:${PASSWORD}@h/d`],
    ['with a slash', 'postgres://u:1/word#1@h/d'],
    ['with a question mark', 'postgres://u:1?word#1@h/d'],
    ['with a blank', 'postgres://u:my word#1@h/d'],
    ['with a slash too few', `postgres:/u:${PASSWORD}@h/d`],
    ['without a scheme', `u:${PASSWORD}@h/d`],
  ])('never shows a password that is not encoded, %s', async (_, url) => {
    for (const args of [
      ['verify', '--url', url],
      ['verify', `--url=${url}`],
      [url],
      ['usage', 'user:1', url],
      [`--ulr=${url}`],
      [`--ulr=${url}`, '--json'],
    ]) {
      const ran = await command.run(args)
      expect(ran.exitCode).toBe(2)
      expectNoPassword(ran)
    }
    const ran = await command.run(['verify'], { DATABASE_URL: url })
    expect(ran.stderr).toContain('DATABASE_URL is not a URL')
    expectNoPassword(ran)
  })
})

describe('help', () => {
  it('and the version are no failures', async () => {
    for (const args of [['--help'], ['help'], ['help', 'list'], ['list', '--help']]) {
      expect(await command.run(args)).toMatchObject({ exitCode: 0, stderr: '' })
    }
    expect((await command.run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('names every command, and what the exit codes mean', async () => {
    const { stdout } = await command.run(['--help'])
    const names = ['migrate', 'verify', 'schema', 'usage', 'list', 'check-usage', 'repair-usage', 'leftovers']
    for (const name of [...names, 'purge-expired', 'purge-deleted', 'Exit codes'])
      expect(stdout).toContain(name)
  })
})

it('prints the schema without a database', async () => {
  const ran = await command.run(['schema', '--schema', 'files'])
  expect(ran).toMatchObject({ exitCode: 0, stderr: '' })
  expect(ran.stdout).toContain('CREATE SCHEMA "files"')
})

it('says which package is missing, and where it belongs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-alone-'))
  try {
    const file = join(folder, 'cli.mjs')
    cpSync(command.file, file)
    const failure = await promisify(execFile)(process.execPath, [
      file,
      'verify',
      '--url',
      'postgres://h/d',
    ]).catch((error: { code: number; stderr: string }) => error)
    expect(failure).toMatchObject({ code: 2, stderr: expect.stringContaining('npm install pg') as string })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

describe('a server that isn’t there', () => {
  it('ends with 3, with what is wrong, and without the password', async () => {
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

  it('ends with 3 for a host that has no address', async () => {
    const ran = await command.run(['verify', '--url', `postgres://app:${ENCODED}@nowhere.invalid/files`])
    expect(ran.exitCode).toBe(3)
    expect(ran.stderr).toContain('nowhere.invalid')
    expectNoPassword(ran)
  })

  it.each(['usage user:1', 'migrate', 'verify', 'check-usage'])(
    'ends with 3 where it is MongoDB’s, for %s',
    async (line) => {
      const port = await freePort()
      const url = `mongodb://app:${ENCODED}@127.0.0.1:${port}/files`
      const ran = await command.run([...line.split(' '), '--connect-timeout', '0.3', '--url', url])
      expect(ran).toMatchObject({ exitCode: 3, stdout: '' })
      expect(ran.stderr).toContain(`mongodb://app:***@127.0.0.1:${port}/files`)
      // The driver asks again until its time is over, and says what it met by then, on a busy machine nothing yet.
      expect(ran.stderr).toMatch(/ECONNREFUSED|timed out/)
      expectNoPassword(ran)
    },
  )

  it('ends with 3 where the name of MongoDB’s cluster has no entry', async () => {
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
    'ends with 3 for one of %s that takes the connection and says nothing, in bounded time',
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

  it('tells a program in JSON', async () => {
    const port = await freePort()
    const ran = await command.run(['verify', '--json'], {
      DATABASE_URL: `postgres://127.0.0.1:${port}/files`,
    })
    expect(ran).toMatchObject({ exitCode: 3, stdout: '' })
    expect(jsonLines(ran.stderr)).toEqual([
      { error: { message: 'The database could not be reached.', hints: expect.any(Array) as unknown[] } },
    ])
  })
})

describePostgres('a database that can’t serve', (url) => {
  const pool = poolOf(url)
  afterAll(() => pool.end())

  it('ends with 3 where the database is missing', async () => {
    const target = new URL(url)
    target.pathname = '/not_there'
    const ran = await command.run(['usage', 'user:1'], { DATABASE_URL: target.href })
    expect(ran).toMatchObject({ exitCode: 3, stdout: '' })
    expect(ran.stderr).toContain('There is no such database.')
  })

  it('ends with 3, and names the command, where it was never migrated', async () => {
    for (const args of [
      ['usage', 'user:1'],
      ['list', 'user:1'],
      ['leftovers'],
      ['check-usage'],
      ['repair-usage'],
    ]) {
      const ran = await command.run([...args, '--schema', 'never_migrated'], { DATABASE_URL: url })
      expect(ran).toMatchObject({ exitCode: 3, stdout: '' })
      expect(ran.stderr).toContain('Run: svc-db migrate')
    }
    const verified = await command.run(['verify', '--schema', 'never_migrated'], { DATABASE_URL: url })
    expect(verified).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining('was never migrated') as string,
    })
  })

  it('says nothing of work that it never began', async () => {
    for (const args of [['leftovers'], ['purge-deleted', '--before', '2026-01-01']]) {
      const ran = await command.run([...args, '--schema', 'never_migrated'], { DATABASE_URL: url })
      expect(ran.stderr).toMatch(/^svc-db: The database schema is missing[\s\S]*\(schema never_migrated\)\n/)
    }
  })

  it('tells a program in JSON of a warning of the driver', async () => {
    const target = new URL(url)
    target.searchParams.set('sslmode', 'require')
    const { stderr } = await command.run(['usage', 'user:1', '--json'], { DATABASE_URL: target.href })
    expect(jsonLines(stderr)).toEqual([
      { message: expect.stringMatching(/^SECURITY WARNING/) as string },
      { error: expect.any(Object) as object },
    ])
  })

  it('refuses a schema that newer code has left behind', async () => {
    const schema = freshSchema()
    await postgresAdapter(pool, { schema }).migrate()
    try {
      await pool.query(`UPDATE ${quoted(schema)}.schema_version SET version = 99, min_compatible = 99`)
      const migrated = await command.run(['migrate', '--schema', schema], { DATABASE_URL: url })
      expect(migrated).toMatchObject({ exitCode: 3, stdout: '' })
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
  `a server that asks for a password${programs === null ? ' (there are no programs of PostgreSQL here)' : ''}`,
  () => {
    it('ends with 3 where it is the wrong one, and with 0 where it is the right one', async () => {
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
        expect(refused).toMatchObject({ exitCode: 3, stdout: '' })
        expect(refused.stderr).toContain('The database refused the login.')
        expect(refused.stderr).toContain('Check user and password')
        expectNoPassword(refused)

        target.password = 'right'
        const taken = await command.run(['verify'], { DATABASE_URL: target.href })
        expect(taken).toMatchObject({
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
