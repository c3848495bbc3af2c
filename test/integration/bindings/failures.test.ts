import { describe, expect, it } from 'vitest'
import type { Handler } from '@svc/db'
import { until } from './deferred.js'
import { RawConnection } from './raw-connection.js'
import { failingBody } from './response-bodies.js'
import { everyFramework, frameworks } from './frameworks.js'

const basePath = '/api/s3'

describe.each(everyFramework)('unexpected errors in $name', ({ app: newApp }) => {
  const expectReported = async (handler: Handler, error: unknown) => {
    const app = newApp().bind({ basePath, handler })
    const { url } = await app.listen()
    const response = await fetch(`${url}/api/s3/x`)
    expect([response.status, await response.text()]).toEqual([500, 'by the application'])
    expect(app.errors).toEqual([error])
  }

  it('are reported for a handler that rejects, whatever the reason', async () => {
    const broken = new Error('broken')
    await expectReported(() => Promise.reject(broken), broken)
    // Express treats some of these specially.
    for (const cause of [undefined, null, 'route', 'router']) {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- tests values that are not an Error
      await expectReported(() => Promise.reject(cause), expect.objectContaining({ cause }))
    }
  })

  it('are reported for a body that fails before anything is sent', async () => {
    const broken = new Error('broken')
    for (const chunks of [[], ['first']]) {
      await expectReported(async () => new Response(failingBody(broken, ...chunks), { status: 201 }), broken)
    }
  })
})

describe.each(frameworks)('unexpected errors in $name', ({ app: newApp }) => {
  it('close only the connection if the body fails later, even if the application ignores them', async () => {
    const broken = new Error('broken')
    const handler: Handler = async ({ url }) =>
      url.endsWith('/whole')
        ? Response.json('whole')
        : new Response(failingBody(broken, 'first', 'second', 'third'))
    for (const ignoreErrors of [false, true]) {
      const app = newApp().bind({ basePath, handler })
      const { url, port } = await app.listen({ ignoreErrors })
      const connection = await RawConnection.open(port)

      const response = await connection.send('GET /api/s3/x HTTP/1.1\r\nHost: a\r\n\r\n').rest()

      expect(response).not.toMatch(/\r\n0\r\n\r\n$/)
      await until(() => app.errors.length > 0)
      expect(app.errors).toEqual([broken])
      expect(await (await fetch(`${url}/api/s3/whole`)).json()).toBe('whole')
    }
  })
})
