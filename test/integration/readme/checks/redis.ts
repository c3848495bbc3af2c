import type { Redis } from 'ioredis'
import type { StorageObjectStore } from '@svc/db'
import { expect, inject, vi } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'

/** The store must work without Redis too, as its document says. */
const cachesUsage: SnippetCheck = async (program) => {
  vi.stubEnv('REDIS_URL', inject('redis').url ?? 'redis://127.0.0.1:1')
  const { redis, store } = await run<{ redis: Redis; store: StorageObjectStore }>(program)
  const input = { scope: 'user:ann', bucket: 'files', key: 'a', declaredSize: 5 }
  await store.reserve({ ...input, expiresAt: new Date(Date.now() + 60_000) })
  for (let read = 0; read < 2; read++) {
    expect(await store.getScopeUsage('user:ann')).toMatchObject({ reservedBytes: 5, reservedFiles: 1 })
  }
  await store.close()
  redis.disconnect()
}

export const redisChecks: SnippetChecks = {
  'docs/redis.md#cached-store.ts': cachesUsage,
}
