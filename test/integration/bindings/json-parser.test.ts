import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { serverWithObjects, USER_HEADER } from '../http-table/fixture.js'
import { frameworks } from './frameworks.js'
import { parsed, reading, streamed } from './body-echo.js'

const JSON_TEXT = '{"size":3}'
const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON_TEXT }

describe.each(frameworks)('a JSON parser in $name', ({ app: newApp }) => {
  it('decompresses bodies for the library', async () => {
    const { url } = await newApp().useJsonParser().bind(reading).listen()
    const headers = { ...post.headers, 'content-encoding': 'gzip' }
    const response = await fetch(`${url}/api/s3/upload`, { ...post, headers, body: gzipSync(JSON_TEXT) })
    expect(await response.json()).toEqual(parsed({ size: 3 }))
  })

  it.each([
    ['as the body', (nested: string) => nested],
    ['in a known field', (nested: string) => `{"filename":"a.txt","metadata":${nested}}`],
    ['in an unknown field', (nested: string) => `{"filename":"a.txt","later":{"a":${nested}}}`],
  ])('passes on 10 kB of nested brackets %s, and they are a 400', async (_where, bodyOf) => {
    const { url } = await newApp().useJsonParser().bind(serverWithObjects()).listen()
    for (const nested of [
      '['.repeat(5000) + ']'.repeat(5000),
      `${'{"a":'.repeat(1700)}1${'}'.repeat(1700)}`,
    ]) {
      const headers = { ...post.headers, [USER_HEADER]: 'user:1' }
      const response = await fetch(`${url}/api/s3/upload`, { ...post, headers, body: bodyOf(nested) })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'body' } })
    }
  })

  it('parses the bodies of other routes after the binding', async () => {
    const { url } = await newApp().bind(reading).useJsonParser().routeOfParsedBody().listen()

    expect(await (await fetch(`${url}/other`, post)).json()).toEqual({ size: 3 })
    expect(await (await fetch(`${url}/api/s3/upload`, post)).json()).toEqual(streamed(JSON_TEXT))
  })
})
