import { memoryAdapter } from '@svc/db/memory'
import { afterAll, expect, it } from 'vitest'
import { OWNER } from '../../unit/server/checks/checked.js'
import { checkRaces } from '../../unit/server/checks/races.js'
import { longTimeoutCache } from './long-timeout-cache.js'
import { clientOf, describeRedis, freshPrefix } from './redis-servers.js'

describeRedis('checked uploads under a usage cache', (url) => {
  const redis = clientOf(url)
  afterAll(() => redis.disconnect())

  it('have the usage of their rows, whatever verdicts and jobs do at once', async () => {
    await checkRaces(10, async ({ now }) => {
      const onError = (error: unknown) => expect.fail(String(error))
      const recorded = memoryAdapter({ now, events: true })
      const cached = longTimeoutCache(recorded, redis, { prefix: freshPrefix(), onError })
      return {
        ...cached,
        async checkUsage() {
          expect(await cached.getScopeUsage(OWNER)).toEqual(await recorded.getScopeUsage(OWNER))
          return recorded.checkUsage()
        },
      }
    })
  })
})
