import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { buildCommand, ended, endedUnread, jsonLines } from './command.js'
import { ENCODED, expectNoPassword, PASSWORD } from './secret-password.js'

const command = buildCommand()

const UNENCODED = `postgres://u:${PASSWORD}@h/d`

const NOWHERE = ['--url', 'postgres://127.0.0.1:1/files']

describe('invalid arguments', () => {
  it.each([
    ['no command', [], /Usage: svc-db/],
    ['an unknown command', ['lst', 'user:1'], /unknown command 'lst'[\s\S]*Did you mean list\?/],
    ['an unknown option', ['verify', '--jsn'], /unknown option '--jsn'[\s\S]*--json/],
    ['a missing scope', ['usage'], /missing required argument 'scope'/],
    ['too many arguments', ['usage', 'user:1', 'user:2'], /too many arguments/],
    [
      'an unknown status',
      ['list', 'user:1', '--status', 'gone'],
      /Allowed choices are pending, active, deleted/,
    ],
    ['a limit of 0', ['list', 'user:1', '--limit', '0'], /integer of at least 1/],
    ['an invalid timeout', ['verify', '--connect-timeout', 'soon'], /number of seconds/],
    ['an empty bucket', ['check-storage', '--bucket', '', '--url', 'postgres://h/d'], /1 to 255 characters/],
    [
      'too many at once',
      ['import', '--bucket', 'b', '--map', 'm', '--concurrency', '1001'],
      /integer from 1 to 1000/,
    ],
    [
      'an age above ten years',
      ['check-storage', '--bucket', 'b', '--older-than', '315360001'],
      /from 0 to 315360000/,
    ],
    ['nothing to erase', ['erase', '--yes', ...NOWHERE], /either a scope or --scope-prefix/],
    [
      'a scope and a prefix',
      ['erase', 'user:1', '--scope-prefix', 'user:', '--yes', ...NOWHERE],
      /either a scope or --scope-prefix/,
    ],
    ['an empty prefix', ['erase', '--scope-prefix', '', '--yes', ...NOWHERE], /Must not be empty/],
    [
      'a hard removal of nothing',
      ['clean-up', '--bucket', 'b', '--download-expires-in', '60', '--hard', ...NOWHERE],
      /--hard needs --temporary/,
    ],
    ['a missing date', ['purge-deleted'], /required option '--before <date>'/],
    ['a missing database URL', ['verify'], /No database URL is set[\s\S]*DATABASE_URL/],
    [
      'an unsupported database',
      ['verify', '--url', 'mysql://u:secret@h/d'],
      /Unsupported database URL: mysql:\/\//,
    ],
    ['--prefix on PostgreSQL', ['verify', '--url', 'postgres://h/d', '--prefix', 'x'], /Use --schema/],
    [
      'an invalid schema name',
      ['verify', '--url', 'postgres://h/d', '--schema', 'pg_x'],
      /--schema must not begin/,
    ],
    ['an invalid port', ['verify', '--url', 'postgres://u:secret@h:99999/d'], /invalid host or port/],
    ['--schema on MongoDB', ['verify', '--url', 'mongodb://h/d', '--schema', 'x'], /Use --prefix/],
    [
      'an invalid prefix',
      ['verify', '--url', 'mongodb://h/d', '--prefix', 'a$b'],
      /--prefix must have at most 100 bytes/,
    ],
    [
      'a MongoDB URL without a database name',
      ['verify', '--url', 'mongodb://u:secret@a:1,b:2/?replicaSet=r'],
      /no database name[\s\S]*authSource/,
    ],
    [
      'a URL that the MongoDB driver rejects',
      ['verify', '--url', 'mongodb://u:secret@h/d?tls=perhaps&x=secret'],
      /driver rejects the database URL/,
    ],
    [
      'an invalid MongoDB database name',
      ['verify', '--url', 'mongodb://u:secret@h/a.b'],
      /driver rejects the database URL/,
    ],
    [
      'incompatible MongoDB options',
      ['verify', '--url', 'mongodb://u:secret@a,b/d?directConnection=true'],
      /driver rejects the database URL/,
    ],
  ] as const)('exits with 2 for %s', async (_, args, message) => {
    const ran = await command.run(args)
    expect({ exitCode: ran.exitCode, stdout: ran.stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(ran.stderr).toMatch(message)
    expect(ran.stderr).not.toContain('secret')
  })

  it.each(['2026-02-31', '2026-01-31T12:00:00', 'yesterday', '31.1.2026', '9999-01-01', ''])(
    'exits with 2 for the date %j',
    async (date) => {
      const ran = await command.run(['purge-deleted', '--before', date])
      expect(ran).toMatchObject({ exitCode: 2, stdout: '' })
      expect(ran.stderr).toMatch(/Must be a date|Must not be in the future/)
    },
  )

  it.each([
    [['lst', '--json'], "unknown command 'lst'", ['(Did you mean list?)']],
    [['usage', '--json'], "missing required argument 'scope'", []],
    [['--json'], 'Missing or unknown command.', []],
    [['help', 'lst', '--json'], 'Missing or unknown command.', []],
  ])('reports the error of %j as JSON', async (args, message, hints) => {
    const ran = await command.run(args)
    expect(ran).toMatchObject({ exitCode: 2, stdout: '' })
    expect(jsonLines(ran.stderr)).toEqual([
      { error: { message, hints: [...hints, 'Run svc-db --help for usage.'] } },
    ])
  })

  it('exits with 2 when both variables are set', async () => {
    const both = { DATABASE_URL: 'postgres://h/d', MONGODB_URL: 'mongodb://h/d' }
    const ran = await command.run(['verify'], both)
    expect(ran.exitCode).toBe(2)
    expect(ran.stderr).toContain('both set')
  })

  it.each([
    ['with an at sign', UNENCODED],
    ['with a slash', 'postgres://u:1/word#1@h/d'],
    ['with a question mark', 'postgres://u:1?word#1@h/d'],
    ['with a space', 'postgres://u:my word#1@h/d'],
    ['after a missing slash', `postgres:/u:${PASSWORD}@h/d`],
    ['without a scheme', `u:${PASSWORD}@h/d`],
  ])('never shows an unencoded password (%s)', async (_, url) => {
    for (const args of [['verify', '--url', url], [url]]) {
      const ran = await command.run(args)
      expect(ran.exitCode).toBe(2)
      expectNoPassword(ran)
    }
  })

  it.each([
    ['--url=', ['verify', `--url=${UNENCODED}`]],
    ['an argument too many', ['usage', 'user:1', UNENCODED]],
    ['an unknown option', [`--ulr=${UNENCODED}`]],
    ['an unknown option with --json', [`--ulr=${UNENCODED}`, '--json']],
  ])('never shows an unencoded password in %s', async (_, args) => {
    const ran = await command.run(args)
    expect(ran.exitCode).toBe(2)
    expectNoPassword(ran)
  })

  it('never shows an unencoded password in DATABASE_URL', async () => {
    const ran = await command.run(['verify'], { DATABASE_URL: UNENCODED })
    expect(ran.stderr).toContain('DATABASE_URL must be a URL')
    expectNoPassword(ran)
  })
})

describe('a database URL that is not the value of --url', () => {
  const url = `postgres://u:${ENCODED}@h/d`

  it.each([
    ['--schema', ['verify', '--schema', url]],
    ['--schema of the schema command', ['schema', `--schema=${url}`]],
    ['--schema before the command', ['--schema', url, 'migrate', '--json']],
    ['--prefix', ['verify', '--prefix', url]],
    ['--schema without a scheme', ['migrate', '--schema', `u:${PASSWORD}@h/d`]],
    ['--schema without a user', ['migrate', '--schema', 'postgres://h/d?password=word%231']],
    ['--route', ['list', 'user:1', '--route', url]],
    ['a scope', ['usage', url]],
    ['the scope of check-usage', ['check-usage', url, '--json']],
    ['the scope of a long URL', ['repair-usage', `${url}?${'x'.repeat(300)}`]],
    ['a scope with another protocol', ['usage', `https://u:${ENCODED}@h/d`]],
    ['a JDBC URL as a scope', ['usage', `jdbc:postgresql://h/d?user=u&password=${PASSWORD}`]],
    ['a connection string as a scope', ['usage', `host=h user=u password=${PASSWORD}`]],
    ['--limit', ['leftovers', '--limit', url]],
    ['--before', ['purge-deleted', '--before', url, '--json']],
    ['--connect-timeout', ['verify', '--connect-timeout', url]],
    ['--status', ['list', 'user:1', `--status=${url}`]],
  ])('exits with 2 and never shows it: %s', async (_, args) => {
    // Nothing listens there, so a command that got this far would exit with 3.
    const ran = await command.run(args, { DATABASE_URL: 'postgres://127.0.0.1:1/d' })
    expect({ exitCode: ran.exitCode, stdout: ran.stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(ran.stderr).not.toBe('')
    expectNoPassword(ran)
  })

  it.each(['https://app.example/user/1', 'user:ann@example.com', 'mailto:ann@example.com'])(
    'is not the scope %s',
    async (scope) => {
      const ran = await command.run(['usage', scope], { DATABASE_URL: 'postgres://127.0.0.1:1/d' })
      expect(ran).toMatchObject({ exitCode: 3 })
    },
  )

  it('is not --url itself, which may be repeated', async () => {
    const url = 'postgres://127.0.0.1:1/d'
    for (const args of [
      ['verify', '--url', url],
      ['verify', `--url=${url}`],
      ['--url', 'postgres://127.0.0.1:1/other', 'verify', '--url', url],
    ]) {
      expect(await command.run(args)).toMatchObject({ exitCode: 3 })
    }
  })
})

it('leaves words alone that contain a password of one letter, which gaps would tell', async () => {
  const ran = await command.run(['verify'], { DATABASE_URL: 'postgres://u:e@127.0.0.1:1/d' })
  expect(ran.stderr).toContain('The database is unavailable.')
})

it('redacts the password in warnings of drivers', async () => {
  // Makes each connection cause a warning that names the URL, as some versions of Node do for unusual ones.
  const warns = `import net from 'node:net'
    const { connect } = net.Socket.prototype
    net.Socket.prototype.connect = function (...options) {
      process.emitWarning('Deprecated URL: ' + process.env.DATABASE_URL)
      return connect.apply(this, options)
    }`
  const child = command.start(['verify'], {
    DATABASE_URL: `postgres://u:${ENCODED}@127.0.0.1:1/d`,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(warns)}`,
  })
  child.stdin.end()
  const ran = await ended(child)
  expect(ran.stderr).toContain('Deprecated URL: ***')
  expectNoPassword(ran)
})

describe('help', () => {
  it('ends without an error when its reader has closed the pipe', async () => {
    expect(await endedUnread(command.start(['--help']))).toEqual({ exitCode: 0, stderr: '' })
  })

  it('exits with 0, as --version does', async () => {
    for (const args of [['--help'], ['help'], ['help', 'list'], ['list', '--help']]) {
      expect(await command.run(args)).toMatchObject({ exitCode: 0, stderr: '' })
    }
    expect((await command.run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('lists every command and the exit codes', async () => {
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

it('names the missing driver and how to install it', async () => {
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
