import { createS3Server, db, memoryStorage, type DbHooks, type EventHandler } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { until } from '../../until.js'
import { describePostgres, migratedSchema, poolOf } from './schemas.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

interface Begun {
  readonly object: { readonly key: string; readonly id: string }
  readonly upload: { readonly url: string; readonly headers: Readonly<Record<string, string>> }
}

describePostgres('statements of uploads', (url) => {
  const schema = migratedSchema(poolOf(url), { events: true })
  let proxy: WireProxy
  beforeAll(async () => {
    proxy = await wireProxy(url)
  })
  afterAll(() => proxy.close())

  function serverOf(hooks: DbHooks, onEvent?: EventHandler) {
    const pool = poolOf(proxy.url, { max: 1 })
    onTestFinished(() => pool.end())
    const client = postgresAdapter(pool, { schema })
    const plugins = [db({ client, resolveScope: () => 'user:1', hooks })]
    return createS3Server({
      storage: memoryStorage(),
      bucket: 'b',
      routes: { report: { key: () => 'report', overwrite: true }, any: {} },
      plugins,
      ...(onEvent && { onEvent }),
    })
  }

  /** Uploads a file of this size. Returns the number of statements of its confirm. */
  async function upload(s3: ReturnType<typeof serverOf>, route: 'report' | 'any', size = 1): Promise<number> {
    const post = async (path: string, body: object) => {
      const response = await s3.handler(
        new Request(`http://localhost/api/s3${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      )
      return (await response.json()) as Begun
    }
    const file = { route, filename: 'a.txt', contentType: 'text/plain', size }
    const { object, upload } = await post('/upload', file)
    await s3.handler(
      new Request(upload.url, { method: 'PUT', headers: upload.headers, body: 'x'.repeat(size) }),
    )
    const before = proxy.roundTrips
    await post('/upload/confirm', { key: object.key, id: object.id })
    return proxy.roundTrips - before
  }

  it('a confirm with onActivated makes two, also if the file replaces another', async () => {
    const activated: unknown[] = []
    const s3 = serverOf({
      onActivated: ({ replaced }) => void activated.push(replaced?.size ?? null),
    })
    expect([await upload(s3, 'report', 1), await upload(s3, 'report', 2)]).toEqual([2, 2])
    expect(activated).toEqual([null, 1])
  })

  it('with onEvent, an upload makes two more', async () => {
    let delivered = 0
    let end = () => {}
    const isCounted = new Promise<void>((resolve) => (end = resolve))
    const s3 = serverOf({}, () => (++delivered === 2 ? isCounted : undefined))
    proxy.roundTrips = 0
    await upload(s3, 'any')
    await until(() => delivered === 1)
    // Another object. Whatever follows the first delivery comes before the second one, because the pool has one connection.
    await upload(s3, 'any')
    await until(() => delivered === 2)
    // Each reserves, finds and confirms. The first claims and settles, and the second has claimed.
    expect(proxy.roundTrips).toBe(9)
    end()
  })
})
