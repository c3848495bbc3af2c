import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { RunningServer, ServerKind } from './found-server.js'
import { installedProgram } from './installed-program.js'
import { freePort, privateFolder } from './private-server.js'

/** Where Debian and Homebrew install it. Not always on PATH. */
const FOLDERS = ['/usr/bin', '/opt/homebrew/bin', '/usr/local/bin']

const RESTART_TIMEOUT = 30_000

export const REDIS: ServerKind = {
  name: 'redis',
  variable: 'TEST_REDIS_URL',
  howToGet: 'install Redis (Debian: apt-get install redis-server)',
  ways: [
    async () => {
      const program = redisProgram()
      return program === null ? null : startRedis(program)
    },
  ],
}

/** A private Redis, which a test may kill. */
export interface PrivateRedis extends RunningServer {
  /** Kills the process with SIGKILL. Nothing more is saved. */
  kill(): Promise<void>
  /** Restarts it on the same port with what it saved last, and resolves once it responds. */
  restart(): Promise<void>
  /** Stops the process until `resume()`. Its connections stay open. */
  halt(): Promise<void>
  resume(): Promise<void>
  /** Saves the current data and keeps a copy for {@link killAndRestore}. */
  backUp(): Promise<void>
  /** Like {@link kill}, then replaces the saved data by the copy. */
  killAndRestore(): Promise<void>
}

/** Starts a private server, which saves only on request. `more` holds further command-line settings. */
export async function startRedis(program: string, more: readonly string[] = []): Promise<PrivateRedis> {
  const folder = await privateFolder('redis', null)
  try {
    const port = await freePort()
    const url = `redis://127.0.0.1:${port}`
    const dump = join(folder.path, 'dump.rdb')
    const copy = join(folder.path, 'copy.rdb')
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
    const start = () =>
      folder.serve(program, [...settings, '--dir', folder.path, ...more], () => responds(url))
    await start()
    let pid = await processOf(url)

    const server: PrivateRedis = {
      url,
      from: program,
      stop: () => folder.remove('SIGKILL'),

      async kill() {
        process.kill(pid, 'SIGKILL')
        await untilGone(pid)
      },

      async restart() {
        const deadline = Date.now() + RESTART_TIMEOUT
        for (;;) {
          try {
            await start()
            break
          } catch (error) {
            // The port may still be in use.
            if (Date.now() > deadline) throw error
          }
        }
        pid = await processOf(url)
      },

      async halt() {
        process.kill(pid, 'SIGSTOP')
      },

      async resume() {
        process.kill(pid, 'SIGCONT')
      },

      async backUp() {
        await withClient(url, (client) => client.save())
        await copyFile(dump, copy)
      },

      async killAndRestore() {
        await server.kill()
        await copyFile(copy, dump)
      },
    }
    return server
  } catch (error) {
    await folder.remove('SIGKILL')
    throw error
  }
}

export function redisProgram(): string | null {
  return installedProgram('redis-server', FOLDERS)
}

async function responds(url: string): Promise<boolean> {
  try {
    return await withClient(url, async (client) => (await client.ping()) === 'PONG')
  } catch {
    return false
  }
}

async function processOf(url: string): Promise<number> {
  const info = await withClient(url, (client) => client.info('server'))
  return Number(/^process_id:(\d+)/m.exec(info)?.[1])
}

async function withClient<T>(url: string, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 })
  // Without a listener, ioredis prints every lost connection.
  client.on('error', () => {})
  try {
    await client.connect()
    return await use(client)
  } finally {
    client.disconnect()
  }
}

async function untilGone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
