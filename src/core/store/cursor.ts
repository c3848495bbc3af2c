import { fromBase64Url, hexOf, toBase64Url } from '../bytes.js'
import { StorageError } from '../errors.js'

/** A cursor is the base64url of a kind, which keeps the cursors of different lists apart, a position and a checksum. */
const ROWS = 1
const EVENTS = 2
const CHECKSUM_LENGTH = 4
const MAX_LENGTH = 200
/** The position is the 16 bytes of an id. */
const ROW_CURSOR_LENGTH = 28

export function encodeCursor(id: string): string {
  const hex = id.replaceAll('-', '')
  const position = new Uint8Array(16)
  for (let index = 0; index < 16; index++)
    position[index] = Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16)
  return encode(ROWS, position)
}

/** Returns the id in a cursor. @throws StorageError `INVALID_CURSOR` for anything that `encodeCursor` didn't create. */
export function decodeCursor(cursor: unknown): string {
  if (typeof cursor !== 'string' || cursor.length !== ROW_CURSOR_LENGTH)
    throw new StorageError('INVALID_CURSOR')
  const hex = hexOf(decode(ROWS, cursor))
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Returns the cursor of a driver's position in the list of events, which has at most 100 ASCII characters. */
export function encodeEventCursor(position: string): string {
  return encode(EVENTS, new TextEncoder().encode(position))
}

/** Returns the position in a cursor. @throws StorageError `INVALID_CURSOR` for anything that `encodeEventCursor` didn't create. */
export function decodeEventCursor(cursor: unknown): string {
  return new TextDecoder().decode(decode(EVENTS, cursor))
}

function encode(kind: number, position: Uint8Array): string {
  const end = 1 + position.length
  const bytes = new Uint8Array(end + CHECKSUM_LENGTH)
  bytes[0] = kind
  bytes.set(position, 1)
  new DataView(bytes.buffer).setUint32(end, crc32(bytes.subarray(0, end)))
  return toBase64Url(bytes)
}

function decode(kind: number, cursor: unknown): Uint8Array {
  const isText = typeof cursor === 'string' && cursor.length <= MAX_LENGTH && /^[A-Za-z0-9_-]+$/.test(cursor)
  // No number of bytes has one character more than a multiple of 4.
  if (!isText || cursor.length % 4 === 1) throw new StorageError('INVALID_CURSOR')
  const bytes = fromBase64Url(cursor)
  const end = bytes.length - CHECKSUM_LENGTH
  if (end > 1 && bytes[0] === kind) {
    const checksum = new DataView(bytes.buffer).getUint32(end)
    // Four characters are three bytes. Of fewer, decoding ignores bits beyond the last byte.
    const isExact = cursor.length % 4 === 0 || toBase64Url(bytes) === cursor
    if (isExact && checksum === crc32(bytes.subarray(0, end))) return bytes.subarray(1, end)
  }
  throw new StorageError('INVALID_CURSOR')
}

/** The remainder of each byte, so that a page with a cursor costs little more than the first one. */
const REMAINDERS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  return crc
})

/** CRC-32 (IEEE 802.3). It detects accidental changes; tampering needs no protection, because a cursor grants no access. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (crc >>> 8) ^ REMAINDERS[(crc ^ byte) & 0xff]!
  return (crc ^ 0xffffffff) >>> 0
}
