import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, statfsSync } from 'node:fs'
import { chown, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The user to run a server as. Some servers refuse to run as root. */
export interface ServerUser {
  readonly uid: number
  readonly gid: number
}

/** A temporary folder and the servers in it. All of it is removed when this process ends, even if it is killed. */
export interface PrivateFolder {
  readonly path: string
  /** Runs a command until it exits. */
  run(command: string, args: readonly string[]): Promise<void>
  /**
   * Starts a server and resolves once it is ready. An open port is not enough. Rejects if the server exits before that,
   * with {@link AddressInUse} if that is why.
   */
  serve(command: string, args: readonly string[], isReady: () => Promise<boolean>): Promise<ServerProcess>
  /** Like {@link serve}, with arguments that name a free port, and another one if another process has just taken it. */
  serveOnFreePort(
    command: string,
    args: (port: number) => readonly string[] | Promise<readonly string[]>,
    isReady: (port: number) => Promise<boolean>,
  ): Promise<ServerOnPort>
  /** Stops the servers and removes the folder. */
  remove(signal: NodeJS.Signals): Promise<void>
}

export interface ServerProcess {
  readonly pid: number
  /** Kills the process with SIGKILL and resolves once it is gone. */
  kill(): Promise<void>
}

export interface ServerOnPort extends ServerProcess {
  readonly port: number
  /** Starts it again with the same arguments, and resolves once it is ready. */
  restart(): Promise<void>
}

/** A server could not start, because another process listens on its port. */
class AddressInUse extends Error {}

/**
 * A script that cleans up after this process. Its input ends when the tests are done or die, and it runs in its own
 * session, so signals to the tests don't reach it. It then kills the processes whose ids it has read, and removes the
 * folder.
 */
const CLEANUP = `
while read -r pid; do pids="$pids $pid"; done
[ -z "$pids" ] || { kill -INT $pids; sleep 1; kill -KILL $pids; } 2>/dev/null
for try in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$0" 2>/dev/null; [ -e "$0" ] || exit 0; sleep 0.2; done
`

/** Linux keeps files below this folder in memory. */
const MEMORY_FOLDER = '/dev/shm'

/** Bytes of memory that must be free before servers keep their data there. All of them together need less. */
const PLENTY = 8 * 2 ** 30

/** Returns where a server spends the least time writing. `TMPDIR` has the last word. */
function temporaryRoot(): string {
  if (process.env['TMPDIR'] || freemem() < PLENTY) return tmpdir()
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
    return bavail * bsize < PLENTY ? tmpdir() : MEMORY_FOLDER
  } catch {
    return tmpdir()
  }
}

export async function privateFolder(name: string, user: ServerUser | null): Promise<PrivateFolder> {
  const path = mkdtempSync(join(temporaryRoot(), `svc-db-${name}-`))
  const cleanup = spawn('sh', ['-c', CLEANUP, path], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  cleanup.unref()
  // The open pipe must not keep this process alive.
  ;(cleanup.stdin as unknown as { unref(): void }).unref()
  const servers: ChildProcess[] = []
  if (user) await chown(path, user.uid, user.gid)
  const options = { cwd: path, ...(user ?? {}) }

  const serve: PrivateFolder['serve'] = async (command, args, isReady) => {
    const log = join(path, `log-${servers.length}`)
    const output = openSync(log, 'a')
    const child = spawn(command, [...args], { ...options, stdio: ['ignore', output, output] })
    closeSync(output)
    servers.push(child)
    await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    cleanup.stdin.write(`${child.pid}\n`)
    await untilReady(child, isReady, log)
    return { pid: child.pid!, kill: () => end(child, 'SIGKILL') }
  }

  return {
    path,
    serve,

    async run(command, args) {
      await promisify(execFile)(command, [...args], options)
    },

    serveOnFreePort: (command, args, isReady) =>
      onFreePort(async (port) => {
        const start = async () => serve(command, await args(port), () => isReady(port))
        let running = await start()
        return {
          port,
          get pid() {
            return running.pid
          },
          kill: () => running.kill(),
          async restart() {
            running = await start()
          },
        }
      }),

    async remove(signal) {
      await Promise.all(servers.map((child) => end(child, signal)))
      cleanup.stdin.end()
      await rm(path, { recursive: true, force: true })
    },
  }
}

/** Starts servers in a new folder. If that fails, it stops them and removes the folder. */
export async function startInFolder<T>(
  name: string,
  user: ServerUser | null,
  start: (folder: PrivateFolder) => Promise<T>,
): Promise<T> {
  const folder = await privateFolder(name, user)
  try {
    return await start(folder)
  } catch (error) {
    await folder.remove('SIGKILL')
    throw error
  }
}

async function untilReady(child: ChildProcess, isReady: () => Promise<boolean>, log: string): Promise<void> {
  const exited = ended(child).then(() => false)
  while (!(await Promise.race([isReady(), exited]))) {
    if (!isRunning(child)) throw failedStart(readFileSync(log, 'utf8'))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function failedStart(output: string): Error {
  const message = `The server did not start:\n${output}`
  return /address already in use/i.test(output) ? new AddressInUse(message) : new Error(message)
}

const isRunning = (child: ChildProcess) => child.exitCode === null && child.signalCode === null

async function ended(child: ChildProcess): Promise<void> {
  if (isRunning(child)) await new Promise((resolve) => child.once('exit', resolve))
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (isRunning(child)) child.kill(signal)
  await ended(child)
}

/** Passes a free port to `start`, and another one if `start` finds that its server can't have that port. */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await start(await freePort())
    } catch (error) {
      if (!(error instanceof AddressInUse)) throw error
    }
  }
}

const FIRST_PORT = 20_000
const PORTS = 6000

/**
 * Returns a port on which nothing listens, and which no other test gets until this process ends. It is below those that
 * systems give to outgoing connections (from 32,768 on Linux). Otherwise, a connection of another test, or of a client to
 * itself, could take the port of a server that a test has killed and restarts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS)
    // Listening on a second port tells other processes that this one uses the first.
    const claim = await listenOn(port + PORTS)
    const probe = claim && (await listenOn(port))
    if (probe) {
      await new Promise((resolve) => probe.close(resolve))
      claim.unref()
      return port
    }
    claim?.close()
  }
}

/** Resolves to `null` if the port is in use. */
function listenOn(port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(null))
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}
