import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCommand, jsonLines, type BuiltCommand } from './command.js'
import { expectNoPassword, PASSWORD } from './secret-password.js'

let command: BuiltCommand
beforeAll(async () => {
  command = await buildCommand()
})
afterAll(() => command.remove())

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
