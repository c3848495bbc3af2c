import { randomBytes } from 'node:crypto'
import { Redis, type RedisOptions } from 'ioredis'
import { describe, inject } from 'vitest'
import { describeSkipped, describeWithServer } from '../../servers/describe-with-server.js'
import { redisProgram } from '../../servers/redis.js'

/** Registers tests on the shared Redis, or a visible skip if there is none. */
export function describeRedis(title: string, body: (url: string) => void): void {
  describeWithServer('redis', title, body)
}

/** Registers tests that start private servers, or a visible skip if Redis isn't installed. */
export function describePrivateRedis(title: string, body: (program: string) => void): void {
  const program = redisProgram()
  if (program !== null) return void describe(title, () => body(program))
  const server = inject('redis')
  const reason =
    server.url === null
      ? server.reason
      : `${server.from} names a server that tests must not kill; install Redis`
  console.warn(`Skipped: ${title}. ${reason}`)
  describeSkipped(title, reason)
}

/** Creates a client that reconnects quickly when a test kills its server. */
export function clientOf(
  url: string,
  options: Pick<RedisOptions, 'enableOfflineQueue' | 'keyPrefix' | 'reconnectOnError' | 'retryStrategy'> = {},
): Redis {
  const client = new Redis(url, { retryStrategy: () => 20, ...options })
  // Without a listener, ioredis prints every lost connection.
  client.on('error', () => {})
  return client
}

/** Returns a prefix that no other test uses, with characters that are special in patterns. */
export function freshPrefix(): string {
  return `test*[?]\\ ${randomBytes(6).toString('hex')}:é`
}
