import { describe, expect, it } from 'vitest'
import type { Handler } from '@svc/db'
import { until } from './deferred.js'
import type { FrameworkApp } from './framework.js'
import { RawConnection } from './raw-connection.js'
import { failingBody } from './response-bodies.js'
import { everyFramework, frameworks } from './frameworks.js'

const basePath = '/api/s3'

async function serveIn(app: FrameworkApp, handler: Handler) {
  app.bind({ basePath, handler })
  return { errors: app.errors, ...(await app.listen()) }
}

describe.each(everyFramework)('unexpected errors in $name', ({ app: newApp }) => {
  const serve = (handler: Handler) => serveIn(newApp(), handler)

  it.each([[new Error('broken')], [undefined], ['route'], ['router'], [null]])(
    'are reported for a handler that rejects with %s',
    async (reason) => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- tests values that are not an Error
      const { url, errors } = await serve(() => Promise.reject(reason))
      const response = await fetch(`${url}/api/s3/x`)
      expect(response.status).toBe(500)
      expect(await response.text()).toBe('by the application')
      expect(errors).toEqual([reason instanceof Error ? reason : expect.objectContaining({ cause: reason })])
    },
  )

  it.each([[[]], [['first']]])(
    'are reported for a body that fails after %j, before anything is sent',
    async (chunks) => {
      const broken = new Error('broken')
      const { url, errors } = await serve(
        async () => new Response(failingBody(broken, ...chunks), { status: 201 }),
      )
      const response = await fetch(`${url}/api/s3/x`)
      expect(response.status).toBe(500)
      expect(await response.text()).toBe('by the application')
      expect(errors).toEqual([broken])
    },
  )
})

describe.each(frameworks)('unexpected errors in $name', ({ app: newApp }) => {
  const serve = (handler: Handler) => serveIn(newApp(), handler)

  it('close only the connection if the body fails later', async () => {
    const broken = new Error('broken')
    const { url, port, errors } = await serve(async ({ url }) =>
      url.endsWith('/whole')
        ? Response.json('whole')
        : new Response(failingBody(broken, 'first', 'second', 'third')),
    )
    const connection = await RawConnection.open(port)

    const response = await connection.send('GET /api/s3/x HTTP/1.1\r\nHost: a\r\n\r\n').rest()

    expect(response).not.toMatch(/\r\n0\r\n\r\n$/)
    await until(() => errors.length === 1)
    expect(errors).toEqual([broken])
    expect(await (await fetch(`${url}/api/s3/whole`)).json()).toBe('whole')
  })

  it('close the connection even if the application ignores the error', async () => {
    const broken = new Error('broken')
    const handler: Handler = async () => new Response(failingBody(broken, 'first', 'second', 'third'))
    const app = newApp().bind({ basePath, handler })
    const { port } = await app.listen({ ignoreErrors: true })
    const connection = await RawConnection.open(port)

    await connection.send('GET /api/s3/x HTTP/1.1\r\nHost: a\r\n\r\n').rest()

    await until(() => app.errors.length > 0)
    expect(app.errors).toEqual([broken])
  })
})
