import { S3ClientError, unanswered } from '../client-error.js'

/** How long to wait before each repeat, in milliseconds; about eight seconds in all. */
const PAUSES = [250, 500, 1000, 2000, 4000]

/** Runs a call that may safely be repeated until it is answered by somebody who is not out of service. */
export async function repeatUntilAnswered<Answer>(
  call: () => Promise<Answer>,
  signal: AbortSignal | null | undefined,
  isWorthATry: (error: unknown) => boolean = isPassing,
): Promise<Answer> {
  for (const pause of PAUSES) {
    try {
      return await call()
    } catch (error) {
      if (signal?.aborted || !isWorthATry(error)) throw error
      await wait(pause, signal)
    }
  }
  return call()
}

/** A failure of the network or of a server that may be well again in a moment. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof S3ClientError)) return false
  return error.status === undefined || error.status >= 500 || error.status === 429
}

function wait(milliseconds: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(unanswered(signal))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', stop)
  })
}
