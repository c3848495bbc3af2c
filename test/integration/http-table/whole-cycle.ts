import { createS3Client, dbClient } from '@svc/db/client'
import { describe, expect, it } from 'vitest'
import { errorOf } from './exchange.js'
import { USER_HEADER } from './fixture.js'

const MIB = 1024 ** 2

const bytesOf = (size: number) => new Uint8Array(size).map((_, index) => index >> 8)

const files = [
  { file: 'a text', type: 'text/plain', body: 'hello', puts: 1 },
  { file: 'JSON', type: 'application/json', body: '{ "a": 1 }', puts: 1, isParsed: true },
  { file: 'a form', type: 'application/x-www-form-urlencoded', body: 'a=1&b=%32', puts: 1, isParsed: true },
  { file: 'an empty file', type: 'text/csv', body: '', puts: 1 },
  { file: '12 MiB in one PUT', type: 'video/mp4', body: bytesOf(12 * MIB), puts: 1 },
  { file: '20 MiB in parts', type: 'video/mp4', body: bytesOf(20 * MIB), puts: 3 },
]

export interface CycleOptions {
  /** What a body parser in front does to JSON and forms. Default `nothing`: there is none. */
  readonly parser?: 'nothing' | 'keeps the bytes' | 'replaces the bytes'
  /** Whether a framework removes `Content-Length` from all responses. Default `false`. */
  readonly hidesLength?: boolean
}

/**
 * Tests all that a page does with files, through what is between the client and the library at a URL, which may end with a
 * prefix of the base path.
 */
export function describeWholeCycle(
  urlOf: () => string,
  { parser = 'nothing', hidesLength = false }: CycleOptions = {},
): void {
  /** Sends what a browser adds: frameworks refuse forms from elsewhere by the header `Origin`. */
  function openPage(headers: Readonly<Record<string, string>> = { [USER_HEADER]: 'user:1' }) {
    const baseURL = urlOf()
    const { origin } = new URL(baseURL)
    const sent: string[] = []
    const send = (input: RequestInfo | URL, init: RequestInit = {}) => {
      sent.push(init.method ?? 'GET')
      return fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), origin } })
    }
    const { api } = createS3Client({ baseURL, headers, plugins: [dbClient()], fetch: send })
    return { api, sent, call: (url: string, init?: RequestInit) => send(url, { ...init, headers }) }
  }

  it.each(files)('stores, shows and deletes $file', async ({ type, body, puts, isParsed }) => {
    const { api, sent, call } = openPage()
    const file = new File([body], 'file.bin', { type })
    if (parser === 'replaces the bytes' && isParsed) {
      await expect(api.upload(file)).rejects.toMatchObject(errorOf('VALIDATION_ERROR', 'body') as object)
      return
    }
    const { key } = await api.upload(file)
    expect(sent.filter((method) => method === 'PUT')).toHaveLength(puts)
    const stored = { key, filename: 'file.bin', contentType: type, size: file.size, status: 'active' }
    expect((await api.db.listObjects()).objects).toContainEqual(expect.objectContaining(stored))

    const address = api.fileURL({ key, disposition: 'inline' })
    for (const url of [(await api.download({ key })).url, address]) {
      const response = await call(url)
      // Express adds a charset to what React Router sends.
      const [sentType] = response.headers.get('content-type')!.split(';')
      expect({ status: response.status, type: sentType }).toEqual({ status: 200, type })
      expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(body))).toBe(true)
    }
    const head = await call(address, { method: 'HEAD' })
    // Apache sends no length of 0.
    const length = Number(head.headers.get('content-length'))
    expect({ status: head.status, length }).toEqual({ status: 200, length: hidesLength ? 0 : file.size })

    await api.delete({ key })
    expect((await call(address)).status).toBe(404)
    await expect(api.delete({ key })).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND', status: 404 })
  })

  describe('refuses', () => {
    it('callers who are not signed in', async () => {
      const { api } = openPage({})
      await expect(api.db.listObjects()).rejects.toMatchObject({ code: 'UNAUTHORIZED', status: 401 })
    })

    it('an unknown path', async () => {
      const response = await openPage().call(`${urlOf()}/api/s3/nowhere`)
      expect({ status: response.status, body: (await response.json()) as unknown }).toEqual({
        status: 404,
        body: errorOf('NOT_FOUND'),
      })
    })

    it('invalid JSON', async () => {
      const headers = {
        [USER_HEADER]: 'user:1',
        'content-type': 'application/json',
        origin: new URL(urlOf()).origin,
      }
      const response = await fetch(`${urlOf()}/api/s3/upload`, { method: 'POST', headers, body: '{' })
      expect(response.status).toBe(400)
      // A parser in front refuses it first.
      if (parser === 'nothing') expect(await response.json()).toEqual(errorOf('VALIDATION_ERROR', 'body'))
    })
  })
}
