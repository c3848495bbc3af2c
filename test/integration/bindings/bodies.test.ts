import { Readable } from 'node:stream'
import { setImmediate as nextTick } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Step } from './framework.js'
import { frameworks } from './frameworks.js'
import { reading, readingAtOnce, streamed, type RequestBody } from './body-echo.js'

const ways = [
  { way: 'opened as a stream', reading },
  { way: 'read at once', reading: readingAtOnce },
]

describe.each(frameworks)('a body in $name', ({ app: newApp }) => {
  describe.each(ways)('$way', ({ reading }) => {
    it('arrives in many chunks, after slow middleware', async () => {
      const chunk = 'x'.repeat(50_000)
      async function* chunks() {
        for (let i = 0; i < 20; i++) {
          await nextTick()
          yield Buffer.from(chunk)
        }
      }
      const slow: Step = (_message, _response, proceed) => void nextTick().then(proceed)
      const { url } = await newApp().use(slow).useJsonParser().use(slow).bind(reading).listen()

      const body = Readable.toWeb(Readable.from(chunks()))
      const init = { method: 'PUT', body, duplex: 'half' } as unknown as RequestInit
      const response = await fetch(`${url}/api/s3/upload`, init)

      expect(await response.json()).toEqual(streamed(chunk.repeat(20)))
    })

    it('is read by the library and by middleware that listens to it', async () => {
      const heard: string[] = []
      const app = newApp().use((message, _response, proceed) => {
        message.on('data', (chunk: Buffer) => heard.push(chunk.toString()))
        proceed()
      })
      app.bind({
        ...reading,
        handler: async (request, options) => {
          // As long as resolving the caller may take.
          for (let tick = 0; tick < 10; tick++) await nextTick()
          return reading.handler(request, options)
        },
      })
      const { url } = await app.listen()

      const response = await fetch(`${url}/api/s3/upload`, { method: 'PUT', body: 'bytes' })

      expect(await response.json()).toEqual(streamed('bytes'))
      expect(heard.join('')).toBe('bytes')
    })

    it('is read as bytes despite an encoding', async () => {
      const app = newApp().use((message, _response, proceed) => {
        message.setEncoding('latin1')
        proceed()
      })
      const { url } = await app.bind(reading).listen()
      const response = await fetch(`${url}/api/s3/upload`, { method: 'PUT', body: 'Jürgen' })
      expect(await response.json()).toEqual(streamed('Jürgen'))
    })
  })

  it('is the same stream each time it is opened', async () => {
    const app = newApp().bind({
      ...reading,
      handler: async (_request, options) => {
        const body = options!.body as Extract<RequestBody, { kind: 'stream' }>
        return Response.json(body.open() === body.open())
      },
    })
    const { url } = await app.listen()
    const response = await fetch(`${url}/api/s3/upload`, { method: 'PUT', body: 'bytes' })
    expect(await response.json()).toBe(true)
  })
})
