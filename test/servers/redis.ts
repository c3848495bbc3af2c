import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { RunningServer, ServerKind } from './found-server.js'
import { installedProgram } from './installed-program.js'
import { startInFolder } from './private-server.js'

/** Where Debian and Homebrew install it. Not always on PATH. */
const FOLDERS = ['/usr/bin', '/opt/homebrew/bin', '/usr/local/bin']

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
  return startInFolder('redis', null, async (folder) => {
    const dump = join(folder.path, 'dump.rdb')
    const copy = join(folder.path, 'copy.rdb')
    const settings = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder.path]
    const urlOf = (port: number) => `redis://127.0.0.1:${port}`
    const running = await folder.serveOnFreePort(
      program,
      (port) => ['--port', String(port), ...settings, ...more],
      (port) => responds(urlOf(port)),
    )
    const url = urlOf(running.port)

    const server: PrivateRedis = {
      url,
      from: program,
      stop: () => folder.remove('SIGKILL'),
      kill: () => running.kill(),
      restart: () => running.restart(),

      async halt() {
        process.kill(running.pid, 'SIGSTOP')
      },

      async resume() {
        process.kill(running.pid, 'SIGCONT')
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
  })
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
