import { PassThrough } from 'node:stream'
import { setImmediate as nextTick } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { wholeBody } from '../../../src/bindings/node/message.js'

// What clients can't see: whether a call leaves listeners on the stream, and whether it ends after its client is gone.
describe('wholeBody', () => {
  it('stops reading at the end and above the limit', async () => {
    for (const [limit, expected] of [
      [4, '1234'],
      [3, null],
    ] as const) {
      const stream = new PassThrough()
      const before = stream.eventNames().map((event) => stream.listenerCount(event))
      const body = wholeBody(stream, limit)
      stream.write('12')
      await nextTick()
      stream.write('34')
      if (expected !== null) stream.end()

      expect((await body)?.toString() ?? null).toBe(expected)
      expect(stream.eventNames().map((event) => stream.listenerCount(event))).toEqual(before)
    }
  })

  it('rejects if the stream fails or is closed before its end', async () => {
    for (const [error, message] of [
      [new Error('aborted'), 'aborted'],
      [undefined, 'closed before its end'],
    ] as const) {
      const stream = new PassThrough()
      const body = wholeBody(stream, 4)
      stream.destroy(error)
      await expect(body).rejects.toThrow(message)
    }
    const closed = new PassThrough().destroy()
    await nextTick()
    await expect(wholeBody(closed, 4)).rejects.toThrow('closed before its end')
  })
})
