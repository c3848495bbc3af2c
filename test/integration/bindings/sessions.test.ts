import { describe, expect, it } from 'vitest'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { everyFramework } from './frameworks.js'
import { cookiesOf, keysFor, objectsOfTwo } from './two-callers.js'

describe.each(everyFramework)('the caller, in $name', ({ app: newApp, sessionOf }) => {
  it('is read from the session', async () => {
    const plugin = db({
      client: memoryAdapter({ objects: objectsOfTwo }),
      resolveScope: (request) => sessionOf(request).account ?? null,
    })
    const app = newApp()
      .useSessions()
      .useWork(async (request) => {
        const name = /^\/sign-in\/(.*)/.exec(new URL(request.url).pathname)?.[1]
        if (name !== undefined) sessionOf(request).account = `user:${name}`
      })
    const { url } = await app.bind(plugin).listen()
    const cookie = cookiesOf(await fetch(`${url}/sign-in/ann`, { method: 'POST' }))

    expect(await keysFor(url, {})).toBe(401)
    expect(await keysFor(url, { cookie })).toEqual(['ann.txt'])
  })

  it('can change during resolveScope: every response has the new session cookie', async () => {
    const plugin = db({
      client: memoryAdapter({ objects: objectsOfTwo }),
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
})
