import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeCursor,
  decodeEventCursor,
  encodeCursor,
  encodeEventCursor,
} from '../../../../src/core/store/cursor.js'
import { idNumber } from '../rows.js'

// The conformance suite damages the cursors of one list. These are random positions, and what only a decoder sees.

const character = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_= \né')
const invalid = expect.objectContaining({ code: 'INVALID_CURSOR' }) as unknown

const KINDS = [
  ['of rows', encodeCursor, decodeCursor, fc.uuid({ version: 7 })],
  [
    'of events',
    encodeEventCursor,
    decodeEventCursor,
    fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 100 }),
  ],
] as const

describe.each(KINDS)('a cursor %s', (_, encode, decode, position) => {
  it('is URL-safe, decodes to its position, and is INVALID_CURSOR if a character is changed, cut or added', () => {
    fc.assert(
      fc.property(position, fc.nat(), character, (value, seed, to) => {
        const text = encode(value)
        expect(text).toMatch(/^[A-Za-z0-9_-]{1,200}$/)
        expect(decode(text)).toBe(value)
        const at = seed % text.length
        const changed = text.slice(0, at) + to + text.slice(at + 1)
        for (const other of [changed, text + to, to + text, text.slice(0, at), text.slice(at + 1)])
          if (other !== text) expect(() => decode(other)).toThrow(invalid)
      }),
    )
  })

  it('is INVALID_CURSOR if made up', () => {
    const values = ['', 'A', 'Ag', 'AgAAAAA', 'A'.repeat(28), 'A'.repeat(1e5), 5, null, {}, ['AAAA']]
    for (const value of values) expect(() => decode(value)).toThrow(invalid)
  })
})

it('a cursor of rows is INVALID_CURSOR with another version, even with a correct checksum', () => {
  const payload = Buffer.from(encodeCursor(idNumber(1)), 'base64url').subarray(0, 17)
  for (const version of [1, 0, 2, 255]) {
    payload[0] = version
    const checksum = Buffer.alloc(4)
    checksum.writeUInt32BE(crc32(payload))
    const cursor = Buffer.concat([payload, checksum]).toString('base64url')
    if (version === 1) expect(decodeCursor(cursor)).toBe(idNumber(1))
    else expect(() => decodeCursor(cursor)).toThrow(invalid)
  }
})

it('a cursor of events is not one of rows, even if its position has 16 bytes', () => {
  const events = encodeEventCursor('x'.repeat(16))
  expect(events).toHaveLength(encodeCursor(idNumber(1)).length)
  expect(() => decodeCursor(events)).toThrow(invalid)
  expect(() => decodeEventCursor(encodeCursor(idNumber(1)))).toThrow(invalid)
})
