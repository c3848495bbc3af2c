import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
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

  it('parses the bodies of other routes after the binding', async () => {
    const { url } = await newApp().bind(reading).useJsonParser().routeOfParsedBody().listen()

    expect(await (await fetch(`${url}/other`, post)).json()).toEqual({ size: 3 })
    expect(await (await fetch(`${url}/api/s3/upload`, post)).json()).toEqual(streamed(JSON_TEXT))
  })
})
