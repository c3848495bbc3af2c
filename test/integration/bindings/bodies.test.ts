import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Step } from './framework.js'
import { frameworks } from './frameworks.js'
import { reading, streamed, type RequestBody } from './reading-handler.js'

describe.each(frameworks)('a body in $name', ({ app: newApp }) => {
  it('comes in many pieces, after middleware that takes its time', async () => {
    const piece = 'x'.repeat(50_000)
    async function* pieces() {
      for (let i = 0; i < 20; i++) {
        await nextTurn()
        yield Buffer.from(piece)
      }
    }
    const slow: Step = (_message, _response, proceed) => void nextTurn().then(proceed)
    const { url } = await newApp().use(slow).useJsonParser().use(slow).bind(reading).listen()

    const body = Readable.toWeb(Readable.from(pieces()))
    const init = { method: 'PUT', body, duplex: 'half' } as unknown as RequestInit
    const response = await fetch(`${url}/api/s3/upload`, init)

    expect(await response.json()).toEqual(streamed(piece.repeat(20)))
  })

  it('to which a middleware listens is read by both', async () => {
    const heard: string[] = []
    const app = newApp().use((message, _response, proceed) => {
      message.on('data', (chunk: Buffer) => heard.push(chunk.toString()))
      proceed()
    })
    app.bind({
      ...reading,
      handler: async (request, options) => {
        // As long as finding out who asks may take.
        for (let turn = 0; turn < 10; turn++) await nextTurn()
        return reading.handler(request, options)
      },
    })
    const { url } = await app.listen()

    const response = await fetch(`${url}/api/s3/upload`, { method: 'PUT', body: 'bytes' })

    expect(await response.json()).toEqual(streamed('bytes'))
    expect(heard.join('')).toBe('bytes')
  })

  it('with an encoding is read as bytes', async () => {
    const app = newApp().use((message, _response, proceed) => {
      message.setEncoding('latin1')
      proceed()
    })
    const { url } = await app.bind(reading).listen()
    const response = await fetch(`${url}/api/s3/upload`, { method: 'PUT', body: 'Jürgen' })
    expect(await response.json()).toEqual(streamed('Jürgen'))
  })

  it('is the same stream however often it is opened', async () => {
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
