import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { answers, embeddedBinaries, installedBinaries, readableBy, userOfServer } from './postgres.js'
import { freePort, privateFolder, type PrivateFolder } from './private-server.js'

/** A PostgreSQL of a test's own, which the test may do anything to. */
export interface PrivateCluster {
  readonly url: string
  /** Ends all processes of the server at once with SIGKILL: no goodbye, and nothing more is written. */
  kill(): Promise<void>
  /** Starts it again on the same data and the same port; resolves when it answers. */
  restart(): Promise<void>
}

export interface PrivateClusters {
  readonly primary: PrivateCluster
  /** Follows the primary by streaming, and answers queries that only read. */
  readonly standby: PrivateCluster
  remove(): Promise<void>
}

/** What is acknowledged is on the disk: settings that lose data would hide what these clusters are for. */
const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on']
const SETTINGS = ['listen_addresses=127.0.0.1', 'max_connections=150', 'shared_buffers=64MB', ...DURABLE]

const RESTART_TIMEOUT = 30_000

/** The folder of the server's programs on this machine; `null` where there are none. */
export function postgresPrograms(): string | null {
  return installedBinaries() ?? embeddedBinaries()
}

/** One cluster alone. */
export async function startPrivateCluster(
  binaries: string,
): Promise<{ readonly cluster: PrivateCluster; remove(): Promise<void> }> {
  return inFolder(async (place) => {
    await place.initialise('data')
    return { cluster: await place.start('data'), remove: () => place.remove() }
  }, binaries)
}

/**
 * A primary and its standby. The standby begins with a copy of the primary's files from before its first start, which
 * is as good as a base backup and needs no program that some packages leave out.
 */
export async function startWithStandby(binaries: string): Promise<PrivateClusters> {
  return inFolder(async (place) => {
    await place.initialise('primary')
    await place.copyForStandby('primary', 'standby')
    const primary = await place.start('primary')
    const { hostname, port } = new URL(primary.url)
    const source = `primary_conninfo=host=${hostname} port=${port} user=postgres`
    // A query on the standby never makes it wait or fail: these tests hold its replay back themselves.
    const standby = await place.start('standby', [source, 'hot_standby_feedback=on'])
    return { primary, standby, remove: () => place.remove() }
  }, binaries)
}

interface ClusterPlace {
  /** Makes the files of a new cluster. */
  initialise(name: string): Promise<void>
  /** Of a cluster that doesn't run. */
  copyForStandby(from: string, to: string): Promise<void>
  start(name: string, settings?: readonly string[]): Promise<PrivateCluster>
  remove(): Promise<void>
}

async function inFolder<T>(use: (place: ClusterPlace) => Promise<T>, binaries: string): Promise<T> {
  const user = userOfServer()
  const folder = await privateFolder('cluster', user)
  try {
    const programs = await readableBy(user, binaries, folder.path)
    return await use({
      initialise(name) {
        const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync']
        return folder.run(join(programs, 'initdb'), ['-D', join(folder.path, name), ...options])
      },
      async copyForStandby(from, to) {
        // By commands, because they run as the user of the server, whose the files must be.
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
  } catch (error) {
    await folder.remove('SIGKILL')
    throw error
  }
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
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const flags = [...SETTINGS, ...settings].flatMap((setting) => ['-c', setting])
  const start = () =>
    folder.serve(program, ['-D', data, '-p', String(port), '-k', folder.path, ...flags], () => answers(url))
  await start()

  return {
    url,

    async kill() {
      const [line] = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')
      const postmaster = Number(line)
      // Every process of the server is a session of its own, so no group has them all. A postmaster that is halted starts
      // no more, and does not see its children die one by one.
      process.kill(postmaster, 'SIGSTOP')
      for (;;) {
        const processes = runningProcesses()
        const children = processes.filter(({ parent }) => parent === postmaster)
        const isHalted = processes.some(({ pid, state }) => pid === postmaster && state.startsWith('T'))
        if (isHalted && children.length === 0) break
        for (const { pid } of children) killIfThere(pid)
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      process.kill(postmaster, 'SIGKILL')
    },

    async restart() {
      const deadline = Date.now() + RESTART_TIMEOUT
      for (;;) {
        try {
          return await start()
        } catch (error) {
          // It refuses to start while the one before isn't gone altogether.
          if (Date.now() > deadline) throw error
        }
      }
    },
  }
}

interface RunningProcess {
  readonly pid: number
  readonly parent: number
  readonly state: string
}

/** Those of the whole machine that have not ended. */
function runningProcesses(): RunningProcess[] {
  // Small installations of Linux have no `ps`, other systems no `/proc`.
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

/** As `ps` would write it; empty where the process has just gone. */
function lineOfProc(pid: string): string {
  try {
    // The name, in parentheses, may contain anything.
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
