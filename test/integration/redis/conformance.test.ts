import { afterAll, describe, expect, it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { storeConformance } from '@svc/db/conformance'
import { describeMongo } from '../mongo/places.js'
import { describePostgres } from '../postgres/places.js'
import { memoryBase, mongoBase, postgresBase, type Base } from './bases.js'
import { clientOf, describeRedis, freshPrefix } from './servers.js'
import { sharedByTwo } from './shared-store.js'

describeRedis('two caches on one Redis', (url) => {
  conformance(memoryBase())
  describePostgres('over Postgres', (postgresUrl) => conformance(postgresBase(postgresUrl)))
  describeMongo('over MongoDB', (mongoUrl) => conformance(mongoBase(mongoUrl)))

  function conformance(base: Base): void {
    const clients = [clientOf(url), clientOf(url)]
    const bases = new Map<StorageObjectStore, StorageObjectStore>()
    const answers: string[] = []
    for (const client of clients) noteAnswers(client, answers)
    afterAll(async () => {
      await base.end()
      for (const client of clients) client.disconnect()
    })

    storeConformance({
      name: `redisUsageCache over ${base.name}`,
      numRuns: base.numRuns,
      delays: 3,
      test: { describe, it },
      async createStore(context) {
        const store = await base.createStore(context)
        const options = { prefix: freshPrefix(), onError: () => {} }
        const shared = sharedByTwo(store, clients, options)
        bases.set(shared, store)
        return shared
      },
      close: (store) => base.close(bases.get(store)!),
    })

    // Otherwise all of the above would have been said of the adapter alone.
    it(`answered from Redis, over ${base.name}`, () => {
      expect(answers.filter((answer) => answer === 'value').length).toBeGreaterThan(20)
      expect(answers.filter((answer) => answer === 'stored').length).toBeGreaterThan(20)
    })
  }
})

/** What the scripts of the cache answer to this client. */
function noteAnswers(client: ReturnType<typeof clientOf>, answers: string[]): void {
  const evalsha = client.evalsha.bind(client) as (...args: unknown[]) => Promise<string[]>
  Object.assign(client, {
    async evalsha(...args: unknown[]) {
      const answer = await evalsha(...args)
      answers.push(answer[0]!)
      return answer
    },
  })
}
