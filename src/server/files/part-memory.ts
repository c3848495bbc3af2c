import { DEFAULT_PART_SIZE } from '../attempts/sizes.js'
import { startTimer } from '../waits.js'

/** The size of most parts, whose memory is used again. */
const USUAL_SIZE = DEFAULT_PART_SIZE

/** The bytes of parts that all calls of `files.put` in a process hold: 128 MiB. */
const MAX_BYTES = 16 * USUAL_SIZE

/** Seconds between two looks for parts that stand still. */
const LOOK_SECONDS = 30

/** A part of a body, in memory until it is released. */
export interface PartInMemory {
  readonly size: number
  /** Resolves once there is room for the part. */
  readonly ready: Promise<void>
  /** `size` bytes, once `ready` has resolved. */
  readonly bytes: Uint8Array
  /** Reports progress: bytes have arrived, or are about to be sent. */
  touch(): void
  /** Gives back the memory or the place in the line. It is used again if it `isUnread`: a failed call may still read it. */
  release(isUnread: boolean): void
}

interface Place extends PartInMemory {
  bytes: Uint8Array
  isMoving: boolean
  readonly start: () => void
}

/**
 * Creates memory that parts share. They get it in the order of the calls. A part that is larger than all of it gets it alone.
 * While others wait, a part without progress for 30 to 60 seconds stops counting, because its body may be waiting for theirs.
 */
export function createPartMemory(maxBytes: number): (size: number) => PartInMemory {
  const line: Place[] = []
  const counted = new Set<Place>()
  const spare: Uint8Array[] = []
  /** Negative if a part that had stopped counting goes on. */
  let free = maxBytes
  let stopTimer: (() => void) | null = null

  function count(part: Place): void {
    counted.add(part)
    free -= part.size
  }

  function uncount(part: Place): boolean {
    const isCounted = counted.delete(part)
    if (isCounted) free += part.size
    return isCounted
  }

  function admit(): void {
    for (let part = line[0]; part; part = line[0]) {
      const reused = part.size === USUAL_SIZE ? spare.pop() : undefined
      if (reused) free += USUAL_SIZE
      while (free < part.size && spare.pop()) free += USUAL_SIZE
      if (free < part.size && counted.size > 0) break
      line.shift()
      count(part)
      part.bytes = reused ?? new Uint8Array(part.size)
      part.start()
    }
    if (line.length > 0) return void (stopTimer ??= startTimer(LOOK_SECONDS, look, true))
    stopTimer?.()
    stopTimer = null
  }

  function look(): void {
    stopTimer = null
    for (const part of counted) {
      if (!part.isMoving) uncount(part)
      part.isMoving = false
    }
    admit()
  }

  return (size) => {
    let start = (): void => undefined
    const ready = new Promise<void>((resolve) => {
      start = resolve
    })
    const part: Place = {
      ...{ size, ready, start, bytes: new Uint8Array(), isMoving: true },
      touch() {
        part.isMoving = true
        if (!counted.has(part)) count(part)
      },
      release(isUnread) {
        if (uncount(part) && isUnread && size === USUAL_SIZE && counted.size > 0) {
          spare.push(part.bytes)
          free -= USUAL_SIZE
        } else if (line.includes(part)) line.splice(line.indexOf(part), 1)
        if (counted.size === 0) free += USUAL_SIZE * spare.splice(0).length
        admit()
      },
    }
    line.push(part)
    admit()
    return part
  }
}

/** Returns a part in the memory that all calls of the process share. */
export const partInMemory = createPartMemory(MAX_BYTES)
