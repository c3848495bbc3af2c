import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { DbClientObject } from '@svc/db'
import { serverWithObjects, USER_HEADER, type Served } from '../http-table/fixture.js'
import { everyFramework } from './frameworks.js'
import { listen } from './listening.js'

type Init = ConstructorParameters<typeof Response>[1]

const OriginalResponse = Response

/** Writes into everything that it is given, as the `Response` of some servers does, once the headers are known. */
class WritingResponse extends OriginalResponse {
  constructor(body?: ConstructorParameters<typeof Response>[0], init?: Init) {
    super(body, init)
    const headers: unknown = init?.headers
    if (headers instanceof Headers) headers.set('x-written', '1')
    else if (Array.isArray(headers)) {
      for (const entry of headers as [string, string][]) entry[1] = 'written'
      headers.push(['x-written', '1'])
    } else if (headers) Object.assign(headers, { 'x-written': '1' })
  }
}

/** Does everything twice, because what two responses share shows in the second one. */
async function useTwice(url: string): Promise<void> {
  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(path.startsWith('/') ? url + path : path, {
      redirect: 'manual',
      ...init,
      headers: { [USER_HEADER]: 'user:1', 'content-type': 'application/json', ...(init.headers as object) },
    })
    const text = await response.text()
    const length = response.headers.get('content-length')
    expect(response.headers.get('x-written')).toBeNull()
    expect(response.headers.get('cache-control')).toMatch(/^private, /)
    if (length !== null) expect([path, Number(length)]).toEqual([path, text.length])
    return { status: response.status, text, headers: response.headers }
  }
  const bodies = {
    name: JSON.stringify({ filename: 'a.txt', contentType: 'text/plain', size: 3 }),
    wrong: '{}',
  }
  for (let round = 0; round < 2; round++) {
    expect((await send('/db/objects?limit=1')).status).toBe(200)
    const begun = await send('/upload', { method: 'POST', body: bodies.name })
    expect(begun.status).toBe(201)
    expect((await send('/upload', { method: 'POST', body: bodies.wrong })).status).toBe(400)
    expect((await send('/nothing')).status).toBe(404)
    expect((await send('/upload')).status).toBe(405)
    const { object, upload } = JSON.parse(begun.text) as {
      object: DbClientObject
      upload: { url: string; headers: Record<string, string> }
    }
    expect((await send(upload.url, { method: 'PUT', headers: upload.headers, body: 'abc' })).status).toBe(200)
    const { key, id } = object
    const confirmed = await send('/upload/confirm', { method: 'POST', body: JSON.stringify({ key, id }) })
    expect(confirmed.status).toBe(200)
    const { headers } = await send(`/file?key=${encodeURIComponent(key)}`)
    expect((await send(new URL(headers.get('location')!, `${url}/file`).href)).text).toBe('abc')
    expect((await send(`/object?key=${encodeURIComponent(key)}`, { method: 'DELETE' })).status).toBe(204)
  }
}

const handlerInHono = ({ handler }: Served) => new Hono().all('*', (c) => handler(c.req.raw)).fetch

describe('responses share no headers', () => {
  afterEach(() => void vi.unstubAllGlobals())

  it.each([
    {
      name: 'the handler',
      serve(served: Served) {
        const listener = getRequestListener(handlerInHono(served), { overrideGlobalObjects: false })
        return listen((message, response) => void listener(message, response))
      },
    },
    ...everyFramework.map(({ name, app }) => ({
      name,
      serve: (served: Served) => app().bind(served).listen(),
    })),
  ])('in $name, if `Response` writes into what it is given', async ({ serve }) => {
    vi.stubGlobal('Response', WritingResponse)
    const { url } = await serve(serverWithObjects())
    await useTwice(`${url}/api/s3`)
  })

  it('of the handler in @hono/node-server, which replaces `Response`', async () => {
    const replaced = ['Request', 'Response'].map((name) => [name, Reflect.get(globalThis, name)] as const)
    onTestFinished(() => {
      for (const [name, value] of replaced) Object.defineProperty(globalThis, name, { value })
    })
    const listener = getRequestListener(handlerInHono(serverWithObjects()))
    expect(Response).not.toBe(OriginalResponse)
    const { url } = await listen((message, response) => void listener(message, response))
    await useTwice(`${url}/api/s3`)
  })
})
