import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createStore } from '@svc/db'
import {
  decodeCursor,
  decodeEventCursor,
  encodeCursor,
  encodeEventCursor,
} from '../../../../src/core/store/cursor.js'
import { idNumber } from '../rows.js'
import { recordingDriver } from './recording-driver.js'

const ALPHABET = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
const id = fc.uuid({ version: 7 })
const cursor = id.map(encodeCursor)
const positionIn = (text: string) => fc.nat({ max: text.length - 1 })

function expectRefused(value: unknown): void {
  expect(() => decodeCursor(value)).toThrow(expect.objectContaining({ code: 'INVALID_CURSOR' }))
}

/** Returns a cursor with these 17 bytes and their checksum. */
function cursorOf(payload: Buffer): string {
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(payload))
  return Buffer.concat([payload, checksum]).toString('base64url')
}

describe('cursor', () => {
  it('decodes to its id', () => {
    fc.assert(
      fc.property(id, (value) => {
        expect(decodeCursor(encodeCursor(value))).toBe(value)
      }),
    )
  })

  it('is URL-safe and at most 200 characters long', () => {
    fc.assert(
      fc.property(cursor, (text) => {
        expect(text).toMatch(/^[A-Za-z0-9_-]+$/)
        expect(encodeURIComponent(text)).toBe(text)
        expect(text.length).toBeLessThanOrEqual(200)
      }),
    )
  })

  it('is INVALID_CURSOR with any one character changed', () => {
    const changed = cursor.chain((text) =>
      fc.record({
        text: fc.constant(text),
        at: positionIn(text),
        to: fc.constantFrom(...ALPHABET, '=', ' '),
      }),
    )
    fc.assert(
      fc.property(changed, ({ text, at, to }) => {
        fc.pre(text[at] !== to)
        expectRefused(text.slice(0, at) + to + text.slice(at + 1))
      }),
    )
  })

  it('is INVALID_CURSOR when cut at either end', () => {
    fc.assert(
      fc.property(
        cursor.chain((text) => fc.tuple(fc.constant(text), positionIn(text))),
        ([text, at]) => {
          expectRefused(text.slice(0, at))
          expectRefused(text.slice(at + 1))
        },
      ),
    )
  })

  it('is INVALID_CURSOR when extended at either end', () => {
    const more = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.constantFrom(...ALPHABET, '=', '==', '\n', ' ', '%3D'),
    )
    fc.assert(
      fc.property(cursor, more, (text, extension) => {
        expectRefused(text + extension)
        expectRefused(extension + text)
      }),
    )
  })

  it('is INVALID_CURSOR with two characters swapped', () => {
    const swapped = cursor.chain((text) =>
      fc.record({ text: fc.constant(text), one: positionIn(text), other: positionIn(text) }),
    )
    fc.assert(
      fc.property(swapped, ({ text, one, other }) => {
        const characters = [...text]
        fc.pre(characters[one] !== characters[other])
        ;[characters[one], characters[other]] = [characters[other]!, characters[one]!]
        expectRefused(characters.join(''))
      }),
    )
  })

  it('is INVALID_CURSOR when made up', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.array(fc.constantFrom(...ALPHABET))), (value) =>
        expectRefused(Array.isArray(value) ? value.join('') : value),
      ),
    )
  })

  it('is INVALID_CURSOR with another version, even with a correct checksum', () => {
    const payload = Buffer.from(encodeCursor(idNumber(1)), 'base64url').subarray(0, 17)
    expect(decodeCursor(cursorOf(payload))).toBe(idNumber(1))
    for (const version of [0, 2, 255]) {
      const other = Buffer.from(payload)
      other[0] = version
      expectRefused(cursorOf(other))
    }
  })

  it.each([5, true, {}, [], ['AAAA'], new String(encodeCursor(idNumber(1)))])(
    'is INVALID_CURSOR when not a string: %o',
    (value) => {
      expectRefused(value)
    },
  )

  it('is not passed to the driver when invalid', async () => {
    const { driver, calls } = recordingDriver({ list: [] })
    const store = createStore(driver)
    const good = encodeCursor(idNumber(1))
    for (const bad of ['', good.slice(1), `${good}A`, good.toLowerCase(), idNumber(1)]) {
      await expect(store.listByScope({ scope: 'user:1', cursor: bad })).rejects.toMatchObject({
        code: 'INVALID_CURSOR',
        status: 400,
      })
    }
    expect(calls).toEqual([])
  })
})

describe('a cursor of events', () => {
  const position = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 100 })

  function expectForeign(value: unknown): void {
    expect(() => decodeEventCursor(value)).toThrow(expect.objectContaining({ code: 'INVALID_CURSOR' }))
  }

  it('decodes to its position, is URL-safe and has at most 200 characters', () => {
    fc.assert(
      fc.property(position, (value) => {
        const text = encodeEventCursor(value)
        expect(text).toMatch(/^[A-Za-z0-9_-]{1,200}$/)
        expect(decodeEventCursor(text)).toBe(value)
      }),
    )
  })

  it('is INVALID_CURSOR with any one character changed, cut or added', () => {
    fc.assert(
      fc.property(position, fc.nat(), fc.constantFrom(...ALPHABET, '=', ' ', 'é'), (value, seed, to) => {
        const text = encodeEventCursor(value)
        const at = seed % text.length
        if (text[at] !== to) expectForeign(text.slice(0, at) + to + text.slice(at + 1))
        for (const other of [text + to, to + text, text.slice(0, at), text.slice(at + 1)])
          expectForeign(other)
      }),
    )
  })

  it('is INVALID_CURSOR when made up', () => {
    for (const value of ['', 'A', 'Ag', 'AgAAAAA', 'A'.repeat(28), 'A'.repeat(1e5), 5, null, {}])
      expectForeign(value)
  })

  it('is not one of rows, even if its position has 16 bytes', () => {
    const events = encodeEventCursor('x'.repeat(16))
    expect(events).toHaveLength(encodeCursor(idNumber(1)).length)
    expectRefused(events)
    expectForeign(encodeCursor(idNumber(1)))
  })
})
