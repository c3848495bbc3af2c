import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { RunningServer, ServerKind } from './found-server.js'
import { installedProgram } from './installed-program.js'
import { freePort, privateFolder } from './private-server.js'

/** Where Debian and Homebrew put it, which is not on everybody's PATH. */
const USUAL_PLACES = ['/usr/bin', '/opt/homebrew/bin', '/usr/local/bin']

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

/** A Redis of a test's own, which the test may do anything to. */
export interface PrivateRedis extends RunningServer {
  /** Ends it with SIGKILL: no goodbye, and nothing more is saved. */
  kill(): Promise<void>
  /** Starts it again on the same port, with what it saved last; resolves when it answers. */
  restart(): Promise<void>
  /** It takes no part in anything until it is resumed, but its connections stay. */
  halt(): Promise<void>
  resume(): Promise<void>
  /** Saves what it holds now, and keeps a copy of that for {@link killAndRestore}. */
  backUp(): Promise<void>
  /** As {@link kill}, and puts the copy in the place of what it saved last. */
  killAndRestore(): Promise<void>
}

/** A server of its own, which saves only when it is told to. `more`: further settings, as on its command line. */
export async function startRedis(program: string, more: readonly string[] = []): Promise<PrivateRedis> {
  const folder = await privateFolder('redis', null)
  try {
    const port = await freePort()
    const url = `redis://127.0.0.1:${port}`
    const dump = join(folder.path, 'dump.rdb')
    const copy = join(folder.path, 'copy.rdb')
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
    const start = () =>
      folder.serve(program, [...settings, '--dir', folder.path, ...more], () => answers(url))
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
            // The port may not be free yet.
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
  return installedProgram('redis-server', USUAL_PLACES)
}

async function answers(url: string): Promise<boolean> {
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
  // Without a listener ioredis prints each lost connection.
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
