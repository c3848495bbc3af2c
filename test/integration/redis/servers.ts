import { randomBytes } from 'node:crypto'
import { Redis, type RedisOptions } from 'ioredis'
import { describe, inject } from 'vitest'
import { describeSkipped, describeWithServer } from '../../servers/describe-with-server.js'
import { redisProgram } from '../../servers/redis.js'

/** The Redis that the tests share, or a visible skip where there is none. */
export function describeRedis(title: string, body: (url: string) => void): void {
  describeWithServer('redis', title, body)
}

/** Tests with a Redis of their own to kill, or a visible skip where there is no program to start one. */
export function describePrivateRedis(title: string, body: (program: string) => void): void {
  const program = redisProgram()
  if (program !== null) return void describe(title, () => body(program))
  const server = inject('redis')
  const reason =
    server.url === null
      ? server.reason
      : `${server.from} names a server that tests may not kill; install Redis`
  console.warn(`Skipped: ${title}. ${reason}`)
  describeSkipped(title, reason)
}

/** A client that survives what the tests do to its server, and is soon there again. */
export function clientOf(
  url: string,
  options: Pick<RedisOptions, 'enableOfflineQueue' | 'keyPrefix' | 'retryStrategy'> = {},
): Redis {
  const client = new Redis(url, { retryStrategy: () => 20, ...options })
  // Without a listener ioredis prints each lost connection.
  client.on('error', () => {})
  return client
}

/** A prefix that no other test uses, of characters that have a meaning elsewhere. */
export function freshPrefix(): string {
  return `test*[?]\\ ${randomBytes(6).toString('hex')}:é`
}
