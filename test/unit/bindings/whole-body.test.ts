import { PassThrough, Readable } from 'node:stream'
import { setImmediate as nextTick } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { wholeBody } from '../../../src/bindings/node/whole-body.js'

const EVENTS = ['readable', 'end', 'error', 'close'] as const
const listenersOf = (stream: Readable) => EVENTS.map((event) => stream.listenerCount(event))

describe('wholeBody', () => {
  it('joins chunks that arrive later', async () => {
    const stream = new PassThrough()
    const before = listenersOf(stream)
    const body = wholeBody(stream, 100)
    for (const chunk of ['one ', 'two ', 'three']) {
      stream.write(chunk)
      await nextTick()
    }
    stream.end()

    expect((await body)?.toString()).toBe('one two three')
    expect(listenersOf(stream)).toEqual(before)
  })

  it('accepts a body of exactly the limit', async () => {
    expect((await wholeBody(Readable.from([Buffer.from('1234')]), 4))?.toString()).toBe('1234')
  })

  it('returns null for a longer body, before its end', async () => {
    const stream = new PassThrough()
    const before = listenersOf(stream)
    stream.write('12345')

    expect(await wholeBody(stream, 4)).toBeNull()
    expect(listenersOf(stream)).toEqual(before)
  })

  it('returns nothing for a stream that has ended', async () => {
    const stream = Readable.from([])
    stream.resume()
    await nextTick()
    await nextTick()

    expect(stream.readableEnded).toBe(true)
    expect(await wholeBody(stream, 4)).toHaveLength(0)
  })

  it('rejects with the error of the stream', async () => {
    const stream = new PassThrough()
    const body = wholeBody(stream, 4)
    stream.destroy(new Error('aborted'))
    await expect(body).rejects.toThrow('aborted')
  })

  it('rejects if the stream is closed before its end', async () => {
    const stream = new PassThrough()
    const body = wholeBody(stream, 4)
    stream.destroy()
    await expect(body).rejects.toThrow('closed before its end')
  })

  it('rejects if the stream was closed already', async () => {
    const stream = new PassThrough()
    stream.destroy()
    await nextTick()
    await expect(wholeBody(stream, 4)).rejects.toThrow('closed before its end')
  })
})
