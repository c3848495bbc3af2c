import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { embeddedBinaries, installedBinaries, readableBy, responds, urlOf, userOfServer } from './postgres.js'
import { startInFolder, type PrivateFolder } from './private-server.js'

/** A private PostgreSQL, which a test may kill. */
export interface PrivateCluster {
  readonly url: string
  /** Kills all processes of the server with SIGKILL. Nothing more is written. */
  kill(): Promise<void>
  /** Restarts it with the same data and port, and resolves once it responds. */
  restart(): Promise<void>
}

export interface PrivateClusters {
  readonly primary: PrivateCluster
  /** Streaming replicas, which accept read-only queries. */
  readonly standbys: readonly [PrivateCluster, PrivateCluster]
  remove(): Promise<void>
}

/** Acknowledged writes are on disk: these clusters exist to test crashes. */
const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on']
const SETTINGS = ['listen_addresses=127.0.0.1', 'max_connections=150', 'shared_buffers=64MB', ...DURABLE]

/** Returns the folder of the server's programs; `null` if there are none. */
export function postgresPrograms(): string | null {
  return installedBinaries() ?? embeddedBinaries()
}

/** Starts a single cluster. */
export async function startPrivateCluster(
  binaries: string,
  settings: readonly string[] = [],
): Promise<{ readonly cluster: PrivateCluster; remove(): Promise<void> }> {
  return inFolder(async (clusters) => {
    await clusters.initialise('data')
    return { cluster: await clusters.start('data', settings), remove: () => clusters.remove() }
  }, binaries)
}

/**
 * Starts a primary and two standbys. Each standby starts from a copy of the primary's files, made before the primary's
 * first start. That equals a base backup, and doesn't need `pg_basebackup`, which some packages leave out. With `synchronous`,
 * the primary acknowledges what both have.
 */
export async function startWithStandbys(
  binaries: string,
  { synchronous = false }: { readonly synchronous?: boolean } = {},
): Promise<PrivateClusters> {
  return inFolder(async (clusters) => {
    await clusters.initialise('primary')
    for (const name of ['standby', 'other-standby']) await clusters.copyForStandby('primary', name)
    const primary = await clusters.start(
      'primary',
      synchronous ? ['synchronous_standby_names=ANY 2 (*)'] : [],
    )
    const { hostname, port } = new URL(primary.url)
    const source = `primary_conninfo=host=${hostname} port=${port} user=postgres`
    // Queries on the standby must not delay its replay or be cancelled by it: the tests pause the replay themselves.
    const settings = [source, 'hot_standby_feedback=on']
    const standbys = [
      await clusters.start('standby', settings),
      await clusters.start('other-standby', settings),
    ] as const
    return { primary, standbys, remove: () => clusters.remove() }
  }, binaries)
}

interface ClusterFolder {
  /** Creates the files of a new cluster. */
  initialise(name: string): Promise<void>
  /** Copies the files of a cluster that is not running. */
  copyForStandby(from: string, to: string): Promise<void>
  start(name: string, settings?: readonly string[]): Promise<PrivateCluster>
  remove(): Promise<void>
}

async function inFolder<T>(use: (folder: ClusterFolder) => Promise<T>, binaries: string): Promise<T> {
  const user = userOfServer()
  return startInFolder('cluster', user, async (folder) => {
    const programs = await readableBy(user, binaries, folder.path)
    return await use({
      initialise(name) {
        const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync']
        return folder.run(join(programs, 'initdb'), ['-D', join(folder.path, name), ...options])
      },
      async copyForStandby(from, to) {
        // Commands run as the server's user, who must own the files.
        await folder.run('cp', ['-a', join(folder.path, from), join(folder.path, to)])
        await folder.run('touch', [join(folder.path, to, 'standby.signal')])
      },
      start: (name, settings = []) =>
        startCluster({
          folder,
          program: join(programs, 'postgres'),
          data: join(folder.path, name),
          settings,
        }),
      remove: () => folder.remove('SIGINT'),
    })
  })
}

async function startCluster({
  folder,
  program,
  data,
  settings,
}: {
  folder: PrivateFolder
  program: string
  data: string
  settings: readonly string[]
}): Promise<PrivateCluster> {
  const flags = [...SETTINGS, ...settings].flatMap((setting) => ['-c', setting])
  const server = await folder.serveOnFreePort(
    program,
    (port) => ['-D', data, '-p', String(port), '-k', folder.path, ...flags],
    (port) => responds(urlOf(port)),
  )

  return {
    url: urlOf(server.port),
    restart: () => server.restart(),

    async kill() {
      const postmaster = server.pid
      // The server's processes share no process group. A stopped postmaster starts no new processes and doesn't notice
      // that its children die one by one.
      process.kill(postmaster, 'SIGSTOP')
      for (;;) {
        const processes = runningProcesses()
        const children = processes.filter(({ parent }) => parent === postmaster)
        const isHalted = processes.some(({ pid, state }) => pid === postmaster && state.startsWith('T'))
        if (isHalted && children.length === 0) break
        for (const { pid } of children) killIfThere(pid)
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      await server.kill()
    },
  }
}

interface RunningProcess {
  readonly pid: number
  readonly parent: number
  readonly state: string
}

/** Returns all processes of the machine, without zombies. */
function runningProcesses(): RunningProcess[] {
  // Minimal Linux installations have no `ps`, and other systems no `/proc`.
  const lines = existsSync('/proc/self/stat')
    ? readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map(lineOfProc)
    : execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).split('\n')
  return lines
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, parent, state]) => ({ pid: Number(pid), parent: Number(parent), state: state ?? 'Z' }))
    .filter(({ state }) => !state.startsWith('Z'))
}

/** Returns the line that `ps` would print; an empty one if the process has just ended. */
function lineOfProc(pid: string): string {
  try {
    // The process name, in parentheses, may contain any characters.
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return `${pid} ${parent} ${state}`
  } catch {
    return ''
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
