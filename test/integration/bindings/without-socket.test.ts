import type { RequestListener } from 'node:http'
import { configure } from '@codegenie/serverless-express'
import { callNodeRequestHandler } from 'node-mock-http'
import { createRequest, createResponse, type Body, type RequestMethod } from 'node-mocks-http'
import serverlessHttp from 'serverless-http'
import { describe, expect, it } from 'vitest'
import type { DbClientObject } from '@svc/db'
import { expressBinding, fetchRequest, type IncomingExpressRequest } from '@svc/db/express'
import { koaBinding } from '@svc/db/koa'
import { versions as expressVersions } from '../express/versions.js'
import { serverWithObjects, USER_HEADER } from '../http-table/fixture.js'
import { listenerOf, versions as koaVersions } from '../koa/versions.js'

/** Sends a request without a socket, with its body in whole. */
type Send = (
  method: string,
  target: string,
  headers: Record<string, string>,
  body: string,
) => Promise<{ readonly status: number; readonly text: string }>

const host = 'api.example'

async function uploads(send: Send): Promise<void> {
  const headers = { host, [USER_HEADER]: 'user:1', 'content-type': 'application/json' }
  const json = async (method: string, target: string, body?: object) => {
    const { status, text } = await send(method, `/api/s3${target}`, headers, body ? JSON.stringify(body) : '')
    return [status, JSON.parse(text) as unknown] as const
  }
  const [status, begun] = await json('POST', '/upload', { filename: 'a', contentType: 'text/plain', size: 3 })
  expect(status).toBe(201)
  const { object, upload } = begun as {
    object: DbClientObject
    upload: { url: string; headers: Record<string, string> }
  }
  const { pathname, host: uploadHost } = new URL(upload.url)
  expect(uploadHost).toBe(host)
  expect((await send('PUT', pathname, { host, ...upload.headers }, 'abc')).status).toBe(200)
  const { key, id } = object
  expect((await json('POST', '/upload/confirm', { key, id }))[0]).toBe(200)
  const link = (await json('GET', `/download?key=${encodeURIComponent(key)}`))[1] as { url: string }
  expect((await send('GET', new URL(link.url).pathname, { host }, '')).text).toBe('abc')
}

interface LambdaResult {
  readonly statusCode: number
  readonly body: string
  readonly isBase64Encoded?: boolean
}

function throughLambda(call: (event: never, context: never) => Promise<unknown>): Send {
  return async (method, target, headers, body) => {
    const [rawPath, rawQueryString = ''] = target.split('?')
    const http = { method, path: rawPath, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: '' }
    const requestContext = { http, domainName: host, stage: '$default', requestId: '1' }
    const event = { version: '2.0', rawPath, rawQueryString, headers, requestContext, body }
    const result = (await call(event as never, {} as never)) as LambdaResult
    const text = Buffer.from(result.body, result.isBase64Encoded ? 'base64' : 'utf8').toString()
    return { status: result.statusCode, text }
  }
}

const applications = [
  ...expressVersions.map(({ name, express }) => ({
    name,
    app: (): RequestListener => express().use(expressBinding(serverWithObjects())),
  })),
  ...expressVersions.map(({ name, express }) => ({
    name: `${name} behind a parser`,
    app: (): RequestListener => express().use(express.json()).use(expressBinding(serverWithObjects())),
  })),
  ...koaVersions.map(({ name, Koa }) => ({
    name,
    app: () => listenerOf(new Koa().use(koaBinding(serverWithObjects()))),
  })),
]

describe.each(applications)('$name without a socket', ({ app }) => {
  it('serves uploads through @codegenie/serverless-express', async () => {
    await uploads(throughLambda(configure({ app: app() }) as never))
  })

  it('serves uploads through serverless-http', async () => {
    await uploads(throughLambda(serverlessHttp(app())))
  })
})

describe('mocks of the request and the response', () => {
  it.each([true, false])('of node-mocks-http (with res.req: %s) get the response', async (hasRequest) => {
    const binding = expressBinding(serverWithObjects())
    await uploads(
      (method, url, headers, body) =>
        new Promise((resolve, reject) => {
          const sent =
            headers['content-type'] === 'application/json' && body !== ''
              ? (JSON.parse(body) as Body)
              : Buffer.from(body)
          const req = createRequest({ method: method as RequestMethod, url, headers, body: sent })
          expect(fetchRequest(req as unknown as IncomingExpressRequest)).toBe(
            fetchRequest(req as unknown as IncomingExpressRequest),
          )
          const res = createResponse(hasRequest ? { req } : {})
          const end = res.end.bind(res) as (...args: unknown[]) => unknown
          Object.assign(res, {
            end(...args: unknown[]) {
              end(...args)
              const text = String(res._getData()) || res._getBuffer().toString()
              resolve({ status: res.statusCode, text })
            },
          })
          binding(req, res, reject)
        }),
    )
  })

  it('of node-mock-http, which Nitro uses, get the response in Koa', async () => {
    const app = new koaVersions[1]!.Koa().use(koaBinding(serverWithObjects()))
    const callback = app.callback()
    await uploads(async (method, url, headers, body) => {
      const response = await callNodeRequestHandler(callback as never, {
        method,
        url,
        headers,
        body: Buffer.from(body),
      })
      return { status: response.status, text: Buffer.from((response.body ?? '') as Uint8Array).toString() }
    })
  })
})
