import { StorageError } from '../../core/errors.js'

/**
 * How long a request may wait for the next bytes of its client before another request may take over, in milliseconds.
 * Clients retry for about eight seconds after a lost connection, which the server may not have noticed.
 */
export const STALLED_AFTER_MS = 5000

/** The claim of a write, which other processes see. */
export interface WriteClaim {
  /** Shows that the write makes progress. Returns `false` if another process has taken over. */
  keep(): Promise<boolean>
  /** Ends the claim. Never rejects. */
  release(): Promise<void>
}

/** Claims a write for this process. Returns `null` if another process holds a claim and makes progress. */
export type ClaimWrite = (target: string) => Promise<WriteClaim | null>

/** The exclusive permission of one request to write to a target. */
export interface WriteTurn {
  /** Aborts when another request takes over. */
  readonly signal: AbortSignal
  /** Waits for the client. A request can only be taken over while it waits here. */
  waitFor<T>(client: Promise<T>): Promise<T>
  /** Shows that the write makes progress. @throws StorageError `KEY_CONFLICT` if another process has taken over. */
  keep(): Promise<void>
}

/** Runs a write. @throws StorageError `KEY_CONFLICT` if another request is writing to the target. */
export type RunWrite = <T>(target: string, write: (turn: WriteTurn) => Promise<T>) => Promise<T>

/**
 * Creates a runner that admits one write at a time per target. Without it, many requests to one URL could each store a
 * draft, and together many times the quota.
 */
export function createWriteTurns(now: () => Date, claimWrite: ClaimWrite): RunWrite {
  const turns = new Map<string, RunningWrite>()

  return async (target, write) => {
    for (let other = turns.get(target); other; other = turns.get(target)) {
      if (!other.hasStalled()) throw inProgress()
      other.stop(takenOver())
      await other.ended
    }
    const running = createRunningWrite(now)
    turns.set(target, running)
    try {
      const claim = await claimWrite(target)
      if (claim === null) throw inProgress()
      try {
        return await write({
          signal: running.signal,
          waitFor: running.waitFor,
          async keep() {
            if (!(await claim.keep())) throw takenOver()
          },
        })
      } finally {
        await claim.release()
      }
    } finally {
      turns.delete(target)
      running.end()
    }
  }
}

interface RunningWrite extends Pick<WriteTurn, 'signal' | 'waitFor'> {
  readonly hasStalled: () => boolean
  readonly stop: (reason: StorageError) => void
  readonly end: () => void
  readonly ended: Promise<void>
}

function createRunningWrite(now: () => Date): RunningWrite {
  const controller = new AbortController()
  let waitingSince: number | null = null
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return {
    signal: controller.signal,
    async waitFor(client) {
      waitingSince = now().getTime()
      try {
        return await client
      } finally {
        waitingSince = null
      }
    },
    hasStalled: () => waitingSince !== null && now().getTime() - waitingSince >= STALLED_AFTER_MS,
    stop: (reason) => controller.abort(reason),
    end,
    ended,
  }
}

function inProgress(): StorageError {
  return new StorageError('KEY_CONFLICT', { message: 'Another request is uploading to this URL.' })
}

function takenOver(): StorageError {
  return new StorageError('KEY_CONFLICT', {
    message: 'The upload stalled, and another request to this URL has taken over.',
  })
}
