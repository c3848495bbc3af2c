import { hexOf } from '../bytes.js'

export const ATTEMPT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** A UUIDv7 has 48 bits of time and 74 free bits. The upper 32 of these count within a millisecond; 42 are random. */
const TIME_LIMIT = 2 ** 48
const COUNTER_LIMIT = 2 ** 32

export interface SequencePosition {
  readonly time: number
  readonly counter: number
}

/** Returns the next position for a clock reading. It always follows `last`. `start` is the first counter of a new millisecond. */
export function positionAfter(last: SequencePosition, clock: number, start: number): SequencePosition {
  // A clock beyond the last representable time counts as one that stands still.
  if (clock > last.time && clock < TIME_LIMIT) return { time: clock, counter: start }
  if (last.counter + 1 < COUNTER_LIMIT) return { time: last.time, counter: last.counter + 1 }
  return { time: last.time + 1, counter: 0 }
}

const RANDOM_BYTES = 10

// A call of the generator costs more than an id, so one call fills the bytes of many ids. No byte is used twice.
const pool = new Uint8Array(RANDOM_BYTES * 256)
let poolPosition = pool.length

function randomBytes(): Uint8Array {
  if (poolPosition === pool.length) {
    crypto.getRandomValues(pool)
    poolPosition = 0
  }
  return pool.subarray(poolPosition, (poolPosition += RANDOM_BYTES))
}

// One sequence per process, whatever clocks its stores use, so ids sort by creation even after a clock is set back.
let last: SequencePosition = { time: 0, counter: 0 }

/**
 * Creates the id of a new attempt: a UUIDv7 (RFC 9562) that sorts after every id created before in this process, and by
 * millisecond across processes. If the clock goes back, the time in new ids stands still until the clock catches up.
 *
 * @example
 * import { createAttemptId } from '@svc/db'
 *
 * const storageKey = `${key}-${createAttemptId()}`
 */
export function createAttemptId(options: { readonly now?: (() => Date) | undefined } = {}): string {
  const clock = options.now ? options.now().getTime() : Date.now()
  const random = randomBytes()
  // A start in the lower half of the range leaves room for two billion ids per millisecond.
  const start = (random[0]! << 23) | (random[1]! << 15) | (random[2]! << 7) | (random[3]! >> 1)
  last = positionAfter(last, clock, start)
  return formatId(last, random)
}

/** Creates the id of a row that is older than the call: a UUIDv7 of that time, whose other 74 bits are random. */
export function attemptIdAt(date: Date): string {
  const random = randomBytes()
  const counter = new DataView(random.buffer, random.byteOffset).getUint32(0)
  // UUIDv7 counts from 1970, so older dates share its first millisecond.
  return formatId({ time: Math.max(0, date.getTime()), counter }, random)
}

/** Returns the UUIDv7 of a position. The last 6 of the random bytes fill the rest, and the first of those is overwritten. */
function formatId({ time, counter }: SequencePosition, random: Uint8Array): string {
  const timeHex = time.toString(16).padStart(12, '0')
  const upperCounter = (0x7000 | (counter >>> 20)).toString(16)
  const variantAndCounter = (0x8000 | ((counter >>> 6) & 0x3fff)).toString(16)
  random[4] = ((counter & 0x3f) << 2) | (random[4]! & 0x03)
  const tail = hexOf(random.subarray(4))
  return `${timeHex.slice(0, 8)}-${timeHex.slice(8)}-${upperCounter}-${variantAndCounter}-${tail}`
}

/** Returns when an attempt began, in milliseconds since 1970. */
export function timeOfAttempt(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

export function isAttemptId(value: unknown): value is string {
  return typeof value === 'string' && ATTEMPT_ID.test(value)
}
