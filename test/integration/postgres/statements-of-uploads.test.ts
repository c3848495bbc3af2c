import { createS3Server, db, memoryStorage, type DbHooks } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
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

  function serverOf(hooks: DbHooks) {
    const pool = poolOf(proxy.url, { max: 1 })
    onTestFinished(() => pool.end())
    const client = postgresAdapter(pool, { schema })
    const plugins = [db({ client, resolveScope: () => 'user:1', hooks })]
    return createS3Server({
      storage: memoryStorage(),
      bucket: 'b',
      routes: { docs: { key: () => 'report', overwrite: true } },
      plugins,
    })
  }

  it('a confirm with onActivated makes two, also if the file replaces another', async () => {
    const activated: unknown[] = []
    const s3 = serverOf({
      onActivated: ({ replaced }) => void activated.push(replaced?.size ?? null),
    })
    for (const size of [1, 2]) {
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
      const file = { route: 'docs', filename: 'a.txt', contentType: 'text/plain', size }
      const { object, upload } = await post('/upload', file)
      await s3.handler(
        new Request(upload.url, { method: 'PUT', headers: upload.headers, body: 'x'.repeat(size) }),
      )
      proxy.roundTrips = 0
      await post('/upload/confirm', { key: object.key, id: object.id })
      expect(proxy.roundTrips).toBe(2)
    }
    expect(activated).toEqual([null, 1])
  })
})
