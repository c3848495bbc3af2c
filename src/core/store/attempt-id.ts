const ATTEMPT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** 48 bits of a UUIDv7 are its time. 74 are free; of these the upper 32 count within a millisecond, and 42 are random. */
const TIME_LIMIT = 2 ** 48
const COUNTER_LIMIT = 2 ** 32

/** Where a sequence of ids stands: the time in the last one, and a number that grows as long as the time doesn't. */
export interface SequencePosition {
  readonly time: number
  readonly counter: number
}

/** The next position at the time of the clock, always behind the last one. `start` is where a new millisecond begins to count. */
export function positionAfter(last: SequencePosition, clock: number, start: number): SequencePosition {
  // Behind the last year that an id can say, a clock counts as one that stands.
  if (clock > last.time && clock < TIME_LIMIT) return { time: clock, counter: start }
  if (last.counter + 1 < COUNTER_LIMIT) return { time: last.time, counter: last.counter + 1 }
  return { time: last.time + 1, counter: 0 }
}

const RANDOM_BYTES = 10

// A call of the generator costs more than an id, so it fills bytes for many at once; none serves twice.
const pool = new Uint8Array(RANDOM_BYTES * 256)
let poolPosition = pool.length

function randomBytes(): Uint8Array {
  if (poolPosition === pool.length) {
    crypto.getRandomValues(pool)
    poolPosition = 0
  }
  return pool.subarray(poolPosition, (poolPosition += RANDOM_BYTES))
}

// One sequence a process, whatever clocks its stores have: ids sort by creation also after a clock was set back.
let last: SequencePosition = { time: 0, counter: 0 }

/**
 * The id of a new attempt: a UUIDv7 (RFC 9562) that sorts after every id made before in this process, and by the
 * millisecond among processes. Where the clock goes back, the time in the id waits for it.
 */
export function createAttemptId(options: { readonly now?: (() => Date) | undefined } = {}): string {
  const clock = options.now ? options.now().getTime() : Date.now()
  const random = randomBytes()
  // In the lower half of its range, so that a millisecond has room for two thousand million ids.
  const start = (random[0]! << 23) | (random[1]! << 15) | (random[2]! << 7) | (random[3]! >> 1)
  last = positionAfter(last, clock, start)
  const { time, counter } = last
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
  const timeHex = hex(time, 12)
  const variantAndCounter = 0x8000 | ((counter >>> 6) & 0x3fff)
  const counterAndRandom = ((counter & 0x3f) << 2) | (random[4]! & 0x03)
  const tail = [counterAndRandom, ...random.subarray(5)].map((byte) => hex(byte, 2)).join('')
  return `${timeHex.slice(0, 8)}-${timeHex.slice(8)}-7${hex(counter >>> 20, 3)}-${hex(variantAndCounter, 4)}-${tail}`
}

/** Whether it is a lower-case, hyphenated UUIDv7. */
export function isAttemptId(value: unknown): value is string {
  return typeof value === 'string' && ATTEMPT_ID.test(value)
}
