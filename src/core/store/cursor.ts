import { StorageError } from '../errors.js'

/** Version, the 16 bytes of the last row's id, checksum: 21 bytes, which is exactly 28 characters of base64url. */
const VERSION = 1
const LENGTH = 21
const CURSOR = /^[A-Za-z0-9_-]{28}$/

/** Returns the cursor that continues a listing after the row with this id. It grants no access: it only marks a position. */
export function encodeCursor(id: string): string {
  const bytes = new Uint8Array(LENGTH)
  bytes[0] = VERSION
  const hex = id.replaceAll('-', '')
  for (let i = 0; i < 16; i++) bytes[i + 1] = parseInt(hex.slice(2 * i, 2 * i + 2), 16)
  new DataView(bytes.buffer).setUint32(17, crc32(bytes.subarray(0, 17)))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
}

/** Returns the id in a cursor. @throws StorageError `INVALID_CURSOR` for anything that `encodeCursor` didn't create. */
export function decodeCursor(cursor: unknown): string {
  if (typeof cursor !== 'string' || !CURSOR.test(cursor)) throw new StorageError('INVALID_CURSOR')
  const binary = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
  const checksum = new DataView(bytes.buffer).getUint32(17)
  if (bytes[0] !== VERSION || checksum !== crc32(bytes.subarray(0, 17)))
    throw new StorageError('INVALID_CURSOR')
  const hex = Array.from(bytes.subarray(1, 17), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** CRC-32 (IEEE 802.3). It detects accidental changes; tampering needs no protection, because a cursor grants no access. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return (crc ^ 0xffffffff) >>> 0
}
