import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { memoryAdapter } from '@svc/db/memory'
import { startRedis, type PrivateRedis } from '../../servers/redis.js'
import { longTimeoutCache } from './long-timeout-cache.js'
import { clientOf, describePrivateRedis, freshPrefix } from './redis-servers.js'
import { inAnHour, usage } from './two-processes.js'

const document = readFileSync(new URL('../../../docs/redis.md', import.meta.url), 'utf8')
const documented = /`(\+eval [^`]+)`/.exec(document)![1]!.split(/\s+/)
/** Commands that a loaded script doesn't need: `EVAL` only loads it, and the others are sent by ioredis. */
const OPTIONAL: readonly string[] = ['+eval', '+info', '+client']

const scope = 'scope'

describePrivateRedis('a Redis user with a missing permission', (program) => {
  let server: PrivateRedis
  let admin: ReturnType<typeof clientOf>
  beforeAll(async () => {
    server = await startRedis(program)
    admin = clientOf(server.url)
  })
  afterAll(async () => {
    admin.disconnect()
    await server.stop()
  })

  async function clientWith(rights: readonly string[]) {
    await admin.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>secret', ...rights)
    const url = new URL(server.url)
    url.username = 'app'
    url.password = 'secret'
    return clientOf(url.href)
  }

  const lacking = documented
    .filter((right) => !OPTIONAL.includes(right))
    .map((right) => ({
      missing: right,
      rights: ['~{test*', ...documented.filter((other) => other !== right)],
    }))

  it.each([{ missing: 'access to the keys', rights: documented }, ...lacking])(
    'never gets a stale usage, and an error is reported ($missing)',
    async ({ rights }) => {
      const database = memoryAdapter()
      const prefix = freshPrefix()
      const errors: string[] = []
      const client = await clientWith(rights)
      onTestFinished(() => client.disconnect())
      const store = longTimeoutCache(database, client, {
        prefix,
        onError: (error) => void errors.push(`${error as Error} ${(error as Error).cause as Error}`),
      })

      for (let round = 1; round <= 3; round++) {
        const written = { scope, bucket: 'bucket', key: `key ${round}` }
        await store.reserve({ ...written, declaredSize: 1, expiresAt: inAnHour(() => new Date()) })
        for (let read = 0; read < 3; read++) {
          expect(await store.getScopeUsage(scope)).toEqual(usage(0, round))
        }
      }

      expect(errors[0]).toMatch(/NOPERM|user executing the script can't|permission/)
      await store.close()
    },
  )
})
