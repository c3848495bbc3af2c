import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, expect, it } from 'vitest'
import { echo, echoOf } from './echo.js'
import { everyFramework } from './frameworks.js'

describe.each(everyFramework)('mounted in $name, the library', ({ app: newApp }) => {
  it('serves all paths if its base path is the root', async () => {
    const atRoot = { ...echo, basePath: '' }
    const { url } = await newApp().bind(atRoot, '/v1').bind(atRoot).listen()

    for (const [path, basePath] of [
      ['/db/objects', ''],
      ['/v1/db/objects', '/v1'],
      ['/v1', '/v1'],
    ] as const) {
      expect(await echoOf(await fetch(url + path))).toMatchObject({ url: url + path, basePath })
    }
  })

  it('can be mounted twice', async () => {
    const { url } = await newApp()
      .bind(echo)
      .bind({ ...echo, basePath: '/files' })
      .listen()

    for (const basePath of ['/files', '/api/s3']) {
      expect(await echoOf(await fetch(`${url}${basePath}/db/objects`))).toMatchObject({ basePath })
    }
  })

  it('leaves the bodies of other routes untouched, in both directions', async () => {
    const { url } = await newApp()
      .bind(echo)
      .route((_request, response, message) => void pipeline(message, response))
      .listen()
    const chunks = Array.from({ length: 50 }, (_, i) => Buffer.alloc(10_000, i))
    const body = Readable.toWeb(Readable.from(chunks))

    const init = { method: 'PUT', body, duplex: 'half' } as unknown as RequestInit
    const response = await fetch(`${url}/mirror`, init)

    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.concat(chunks))).toBe(true)
  })
})
