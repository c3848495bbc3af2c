import { memoryAdapter } from '@svc/db/memory'
import { redisUsageCache } from '@svc/db/redis'
import { expect, it } from 'vitest'
import { contextsOfTest } from '../../contexts-of-test.js'

it('after a failure, Redis is probed in the async context of no request', async () => {
  const requests = contextsOfTest()
  const seen: unknown[] = []
  const redis = {
    async evalsha() {
      seen.push(requests.getStore())
      await Promise.resolve()
      if (seen.length === 1) throw new Error('Redis is loading.')
      return ['forgotten']
    },
    eval: () => expect.unreachable(),
  }
  const store = redisUsageCache(memoryAdapter(), redis, { onError: () => undefined })
  await requests.run('user:1', () => store.getScopeUsage('user:1'))
  await expect.poll(() => seen).toEqual(['user:1', undefined])
  await store.close()
})
