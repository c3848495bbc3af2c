import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createStore } from '@svc/db'
import { decodeCursor, encodeCursor } from '../../../../src/core/store/cursor.js'
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
