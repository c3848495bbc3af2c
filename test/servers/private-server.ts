import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, statfsSync } from 'node:fs'
import { chown, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const START_TIMEOUT = 30_000
const STOP_TIMEOUT = 10_000

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
  /** Starts a server and resolves once it is ready. An open port is not enough. */
  serve(command: string, args: readonly string[], isReady: () => Promise<boolean>): Promise<void>
  /** Stops the servers and removes the folder. */
  remove(signal: NodeJS.Signals): Promise<void>
}

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
  const log = join(path, 'log')
  if (user) await chown(path, user.uid, user.gid)
  const options = { cwd: path, ...(user ?? {}) }

  return {
    path,

    async run(command, args) {
      await promisify(execFile)(command, [...args], options)
    },

    async serve(command, args, isReady) {
      const output = openSync(log, 'a')
      const child = spawn(command, [...args], { ...options, stdio: ['ignore', output, output] })
      closeSync(output)
      servers.push(child)
      await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
      cleanup.stdin.write(`${child.pid}\n`)
      await untilReady(child, isReady, log)
    },

    async remove(signal) {
      await Promise.all(servers.map((child) => end(child, signal)))
      cleanup.stdin.end()
      await rm(path, { recursive: true, force: true })
    },
  }
}

async function untilReady(child: ChildProcess, isReady: () => Promise<boolean>, log: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT
  while (!(await isReady())) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      throw new Error(`The server did not start:\n${readFileSync(log, 'utf8')}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT)
  child.kill(signal)
  await ended
  clearTimeout(timer)
}

const FIRST_PORT = 20_000
const PORTS = 12_000

/**
 * Returns a free port below those that systems give to outgoing connections (from 32,768 on Linux). Otherwise, a connection
 * of another test, or of a client to itself, could take the port of a server that a test has killed and restarts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
