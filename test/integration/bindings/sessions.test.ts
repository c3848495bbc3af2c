import { describe, expect, it } from 'vitest'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { everyFramework } from './frameworks.js'

/** Returns the cookies that a response sets, as a `Cookie` header. */
function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0]!)
    .join('; ')
}

describe.each(everyFramework)('sessions in $name', ({ app: newApp, sessionOf }) => {
  const object = { scope: 'user:ann', bucket: 'files', key: 'ann.txt' }

  it('tell resolveScope who the caller is', async () => {
    const plugin = db({
      client: memoryAdapter({ objects: [object] }),
      resolveScope: (request) => sessionOf(request).account ?? null,
    })
    const app = newApp()
      .useSessions()
      .useWork(async (request) => {
        if (new URL(request.url).pathname === '/sign-in') sessionOf(request).account = 'user:ann'
      })
    const { url } = await app.bind(plugin).listen()
    const cookie = cookiesOf(await fetch(`${url}/sign-in`, { method: 'POST' }))

    expect((await fetch(`${url}/api/s3/db/objects`)).status).toBe(401)
    const found = await fetch(`${url}/api/s3/db/objects`, { headers: { cookie } })
    expect(await found.json()).toMatchObject({ objects: [{ key: 'ann.txt' }] })
  })

  it('can change during resolveScope: every response has the new cookie', async () => {
    const plugin = db({
      client: memoryAdapter({ objects: [object] }),
      resolveScope: async (request) => (sessionOf(request).account ??= 'user:ann'),
    })
    const server = createS3Server({ storage: memoryStorage(), bucket: 'files', plugins: [plugin] })
    const { url } = await newApp().useSessions().bind(server).listen()

    for (const [method, path, status] of [
      ['GET', '/db/objects', 200],
      ['HEAD', '/db/objects', 200],
      ['DELETE', '/object?key=none', 404],
      ['DELETE', '/object?key=ann.txt', 204],
    ] as const) {
      const response = await fetch(`${url}/api/s3${path}`, { method })
      expect(response.status).toBe(status)
      expect(cookiesOf(response)).toMatch(/^(connect\.sid|koa\.sess)=./)
    }
  })

  it('are unknown to a request that came through s3.handler, and onError gets the reason', async () => {
    const resolveScope = (request: Request) => sessionOf(request).account ?? null
    const reasons: unknown[] = []
    const { handler } = createS3Server({
      storage: memoryStorage(),
      bucket: 'files',
      plugins: [db({ client: memoryAdapter(), resolveScope })],
      onError: (error) => void reasons.push(error),
    })
    expect((await handler(new Request('http://a/api/s3/db/objects'))).status).toBe(500)
    await expect
      .poll(() => reasons)
      .toEqual([
        expect.objectContaining({ message: expect.stringMatching(/it came through s3\.handler/) as string }),
      ])
  })
})
