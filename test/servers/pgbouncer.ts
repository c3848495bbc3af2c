import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installedProgram } from './installed-program.js'
import { responds, userOfServer } from './postgres.js'
import { startInFolder } from './private-server.js'
import type { RunningServer, ServerKind } from './found-server.js'

/** Where Debian and Homebrew install it. Not always on PATH. */
const FOLDERS = ['/usr/sbin', '/opt/homebrew/bin', '/usr/local/bin']

/** The first version that can keep prepared statements, and has a setting for it. */
const KEEPS_STATEMENTS = [1, 21] as const

export interface PgbouncerOptions {
  /** Connections to the database. */
  readonly connections: number
  /** The password of the user `tests`. Default: none is asked for. */
  readonly password?: string
  /** Further lines of the section `[pgbouncer]`. */
  readonly settings?: readonly string[]
}

/** A pooler in transaction mode over one database. Keeps no prepared statements. */
export function pgbouncerOver(database: string, options: PgbouncerOptions): ServerKind {
  return {
    name: 'pgbouncer',
    variable: 'TEST_PGBOUNCER_URL',
    howToGet: 'install PgBouncer (Debian: apt-get install pgbouncer)',
    ways: [
      async () => {
        const program = installedProgram('pgbouncer', FOLDERS)
        return program === null ? null : startPgbouncer(program, database, options)
      },
    ],
  }
}

async function startPgbouncer(
  program: string,
  database: string,
  { connections, password, settings: more = [] }: PgbouncerOptions,
): Promise<RunningServer> {
  const version = /\d+\.\d+/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[0] ?? '0.0'
  return startInFolder('pgbouncer', userOfServer(), async (folder) => {
    const { hostname, port: target, username, password: secret, pathname } = new URL(database)
    const parts = {
      host: hostname,
      port: target || '5432',
      dbname: pathname.slice(1),
      user: username,
      password: secret,
    }
    const connection = Object.entries(parts)
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `${name}='${decodeURIComponent(value).replaceAll("'", "''")}'`)
    const users = join(folder.path, 'users.txt')
    await writeFile(users, `"tests" "${password}"\n`)
    const settings = [
      '[databases]',
      `behind = ${connection.join(' ')}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      'unix_socket_dir =',
      ...(password === undefined
        ? ['auth_type = any']
        : ['auth_type = scram-sha-256', `auth_file = ${users}`]),
      'pool_mode = transaction',
      `default_pool_size = ${connections}`,
      'max_client_conn = 200',
      ...more,
      // Older versions have no such setting, and never keep statements.
      ...(keepsStatements(version) ? ['max_prepared_statements = 0'] : []),
    ]
    const file = join(folder.path, 'pgbouncer.ini')
    const urlOf = (port: number) => `postgres://tests:${password ?? ''}@127.0.0.1:${port}/behind`
    const { port } = await folder.serveOnFreePort(
      program,
      async (port) => {
        await writeFile(file, [...settings, `listen_port = ${port}`, ''].join('\n'))
        return [file]
      },
      (port) => responds(urlOf(port)),
    )
    return { url: urlOf(port), from: `${program} ${version}`, stop: () => folder.remove('SIGINT') }
  })
}

function keepsStatements(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [sinceMajor, sinceMinor] = KEEPS_STATEMENTS
  return major > sinceMajor || (major === sinceMajor && minor >= sinceMinor)
}
