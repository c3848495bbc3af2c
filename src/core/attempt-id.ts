const ATTEMPT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** 74 bits of an UUIDv7 are not its time; of these the upper 32 count within a millisecond, and 42 are random. */
const COUNTER_LIMIT = 2 ** 32

// One sequence a process, whatever clocks its stores have: ids sort by creation also after a clock was set back.
let lastTime = 0
let counter = 0

/**
 * The id of a new attempt: a UUIDv7 (RFC 9562) that sorts after every id made before in this process, and by the
 * millisecond among processes. Where the clock goes back, the time in the id waits for it.
 */
export function createAttemptId(options: { readonly now?: (() => Date) | undefined } = {}): string {
  const time = options.now ? options.now().getTime() : Date.now()
  const random = crypto.getRandomValues(new Uint8Array(10))
  if (time > lastTime) {
    lastTime = time
    // Starts in the lower half of its range, so that a millisecond has room for two thousand million ids.
    counter = (random[0]! << 23) | (random[1]! << 15) | (random[2]! << 7) | (random[3]! >> 1)
  } else if (++counter >= COUNTER_LIMIT) {
    lastTime++
    counter = 0
  }
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
  const timeHex = hex(lastTime, 12)
  const variantAndCounter = 0x8000 | ((counter >>> 6) & 0x3fff)
  const counterAndRandom = ((counter & 0x3f) << 2) | (random[4]! & 0x03)
  const tail = [counterAndRandom, ...random.subarray(5)].map((byte) => hex(byte, 2)).join('')
  return `${timeHex.slice(0, 8)}-${timeHex.slice(8)}-7${hex(counter >>> 20, 3)}-${hex(variantAndCounter, 4)}-${tail}`
}

/** Whether it is a lower-case, hyphenated UUIDv7. */
export function isAttemptId(value: unknown): value is string {
  return typeof value === 'string' && ATTEMPT_ID.test(value)
}
