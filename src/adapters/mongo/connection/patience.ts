import { StorageError } from '../../../core/errors.js'

/** A call of the store for which somebody waits, and for how long yet. */
export interface Call {
  /** Whether its caller was told that nobody knows what became of it. Then nothing more is done for it. */
  readonly givenUp: boolean
  /** Resolves when that happens. */
  readonly givingUp: Promise<void>
  /** What went wrong last, for whoever reads the error. */
  trouble: unknown
}

/** Runs a call of the store, and rejects when the server has let it wait too long. */
export type Patience = <T>(work: (call: Call) => Promise<T>) => Promise<T>

/**
 * The driver waits for a server as long as the connection stands, which is for ever where the server hangs. So each call
 * has a limit here, in milliseconds, over all that is tried for it.
 */
export function patienceOf(limit: number): Patience {
  return <T>(work: (call: Call) => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      let giveUp = () => {}
      const call = {
        givenUp: false,
        givingUp: new Promise<void>((done) => (giveUp = done)),
        trouble: undefined,
      }
      const timer = setTimeout(() => {
        call.givenUp = true
        giveUp()
        reject(unanswered(limit, call.trouble))
      }, limit)
      work(call)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer))
    })
}

function unanswered(limit: number, trouble: unknown): StorageError {
  const message =
    `MongoDB has not answered within ${limit / 1000} s. Whether a write took effect is unknown; ` +
    'a repeat with the same id is safe.'
  return new StorageError('DATABASE_UNAVAILABLE', { message, cause: trouble })
}

/** For a lane or a loop that still works for callers who have all gone. */
export function nobodyWaits(trouble: unknown): StorageError {
  return new StorageError('DATABASE_UNAVAILABLE', {
    message: 'Nobody waits for this any more.',
    cause: trouble,
  })
}
