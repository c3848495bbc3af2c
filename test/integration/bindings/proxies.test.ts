import { describe, expect, it } from 'vitest'
import { echo, echoOf } from './echo.js'
import { frameworks } from './frameworks.js'
import { echoThroughProxy } from './reverse-proxy.js'

describe.each(frameworks)('behind a proxy, $name', ({ app: newApp, forwarded }) => {
  it.each([
    { trustsProxy: true, origin: 'https://shop.example:8443' },
    { trustsProxy: false, origin: 'http://internal.example' },
  ])('has the origin $origin (trusted: $trustsProxy)', async ({ trustsProxy, origin }) => {
    const app = await newApp({ trustsProxy }).bind(echo, '/v1').listen()

    expect(await echoThroughProxy(app)).toMatchObject({
      url: `${origin}/v1/api/s3/db/objects?limit=1`,
      basePath: '/v1/api/s3',
    })
  })

  it.each([
    [{ 'x-forwarded-host': 'first.example , last.example' }, `http://${forwarded}.example`],
    [{ 'x-forwarded-host': 'evil.example/path' }, 'http://localhost'],
    [{ 'x-forwarded-host': '' }, null],
    [{}, null],
    [{ 'x-forwarded-proto': forwarded === 'first' ? 'https, http' : 'http, https' }, 'https'],
    [{ 'x-forwarded-proto': 'javascript', 'x-forwarded-host': 'a.example' }, 'http://a.example'],
  ])('from a trusted proxy with %j has the origin %s', async (headers: Record<string, string>, origin) => {
    const { url, host } = await newApp({ trustsProxy: true }).bind(echo).listen()

    const response = await fetch(`${url}/api/s3/x`, { headers })

    const expected = origin === null ? url : origin.includes('://') ? origin : `${origin}://${host}`
    expect(await echoOf(response)).toMatchObject({ url: `${expected}/api/s3/x` })
  })
})
