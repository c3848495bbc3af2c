import { createReport, type ErrorListener } from '../../core/reporter.js'
import { partsOf } from '../../core/store/store-parts.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { cachedStore } from './cached-store.js'
import type { RedisClient } from './redis-client.js'

export type { RedisClient } from './redis-client.js'

const DEFAULT_TTL = 60
const LONGEST_TTL = 86_400
const DEFAULT_PREFIX = 'svc-db'
const LONGEST_PREFIX = 255

/** Milliseconds: many times what a Redis nearby takes, and little for a caller once. */
const TIME_LIMIT = 200

export interface RedisUsageCacheOptions {
  /**
   * How old a usage answer can be at worst: where somebody writes without the cache, or Redis loses what it was told.
   * Whole seconds, 1 to 86400 (a day). Default 60.
   */
  readonly ttlSeconds?: number | null | undefined
  /**
   * What the names of the keys begin with, in braces. One for each database (schema, collections) whose usage is cached:
   * two of them under one prefix would be mixed up. 1..255 characters, none of them a brace. Default `svc-db`.
   */
  readonly prefix?: string | null | undefined
  /**
   * Told when Redis fails or takes nothing more, at most once a second and once for an outage. What it throws is ignored.
   * Default: `console.error`.
   */
  readonly onError?: ErrorListener | null | undefined
}

/**
 * The store with `getScopeUsage` answered from Redis where possible. Every process that writes to the database should
 * use it, with the same prefix. It never decides: `reserve` and `confirm` compare quotas in the database. Where Redis is
 * away, hangs or forgets, everything works as without it. The client stays the caller's to configure and to end.
 *
 * @throws TypeError for a store that `createStore` did not make, for what is no client of `ioredis`, or a bad option.
 */
export function redisUsageCache(
  store: StorageObjectStore,
  redis: RedisClient,
  options: RedisUsageCacheOptions = {},
): StorageObjectStore {
  const parts = partsOf(store)
  if (parts === null) {
    throw new TypeError(
      'redisUsageCache() needs a store as an adapter, or createStore() of @svc/db, has made it: a copy or a wrapper hides its driver.',
    )
  }
  const has = (method: string) => typeof (Object(redis) as Record<string, unknown>)[method] === 'function'
  if (!has('evalsha') || !has('eval')) throw new TypeError('redis must be a client of ioredis.')
  const ttlSeconds = options.ttlSeconds ?? DEFAULT_TTL
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > LONGEST_TTL) {
    throw new TypeError(`ttlSeconds must be an integer from 1 to ${LONGEST_TTL}, not ${String(ttlSeconds)}.`)
  }
  const prefix = options.prefix ?? DEFAULT_PREFIX
  // A brace would end the part of the name that keeps all keys on one node of a cluster.
  if (typeof prefix !== 'string' || !/^[^{}]+$/u.test(prefix) || prefix.length > LONGEST_PREFIX) {
    throw new TypeError(`prefix must be a string of 1 to ${LONGEST_PREFIX} characters without braces.`)
  }

  return cachedStore(parts, {
    redis,
    prefix,
    ttlMilliseconds: ttlSeconds * 1000,
    timeLimit: TIME_LIMIT,
    report: createReport(options.onError),
  })
}
