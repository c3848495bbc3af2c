import { beforeAll, describe, expect, it } from 'vitest'
import { errorOf, exchange } from './exchange.js'
import { serverWithObjects, type Serve } from './fixture.js'

const JSON_TYPE = { 'content-type': 'application/json' }
const MAX_BYTES = 64 * 1024
const uploadRequest = JSON.stringify({ filename: 'a.txt', contentType: 'text/plain', size: 3 })

export interface BodyReading {
  /** Whether the runtime reads the rest of a body that the handler has left unread, so that clients see the response. */
  readonly drainsBodies: boolean
}

/** Tests JSON bodies that the application's own body parser might treat differently. */
export function describeJsonBodies(
  serve: Serve,
  { drainsBodies }: BodyReading = { drainsBodies: true },
): void {
  describe('JSON bodies', () => {
    let baseURL: string
    beforeAll(async () => {
      baseURL = await serve(serverWithObjects())
    })

    const post = (
      body: string | Uint8Array<ArrayBuffer>,
      headers: Readonly<Record<string, string>> = JSON_TYPE,
    ) => exchange(baseURL, { request: 'POST /upload', body, headers })

    const expectRefused = async (...sent: Parameters<typeof post>) => {
      const { status, json } = await post(...sent)
      expect({ sent, status, json }).toEqual({ sent, status: 400, json: errorOf('VALIDATION_ERROR', 'body') })
    }

    it('have the content type application/json', async () => {
      const types = [
        'application/json',
        'Application/JSON',
        'application/json; charset=utf-8',
        'application/json;x',
      ]
      for (const type of types) expect((await post(uploadRequest, { 'content-type': type })).status).toBe(201)
      const others = [
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/jsonp',
        'application/ld+json',
        '',
      ]
      for (const type of others) await expectRefused(uploadRequest, { 'content-type': type })
    })

    it('are JSON objects', async () => {
      for (const body of ['', '{', '{}x', '[]', 'null', '3', '"text"', "{'a':1}"]) await expectRefused(body)
      const notUtf8 = uploadRequest.replace('a.txt', '\xff')
      await expectRefused(Uint8Array.from(notUtf8, (byte) => byte.charCodeAt(0)))
    })

    it('are limited to 64 KiB', async () => {
      expect((await post(uploadRequest.padEnd(MAX_BYTES))).status).toBe(201)
      await expectRefused(uploadRequest.padEnd(MAX_BYTES + 1))
    })

    it('are never too deep to be refused', async () => {
      const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
      const withField = (levels: number) => `${uploadRequest.slice(0, -1)},"later":${nested(levels)}}`
      expect((await post(withField(200))).status).toBe(201)
      expect([201, 400]).toContain((await post(withField(30_000))).status)
      await expectRefused(nested(30_000))
      expect((await post(`{"metadata":${nested(30_000)}}`)).status).toBe(400)
    })

    it.runIf(drainsBodies)('that are far too long get a response, and so does the next request', async () => {
      await expectRefused(uploadRequest.padEnd(20 * MAX_BYTES))
      expect((await post(uploadRequest)).status).toBe(201)
    })
  })
}
