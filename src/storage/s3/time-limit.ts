/** A call that took too long. The bucket may have acted all the same. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
}

/**
 * Runs a call that ends after so many seconds, or when the caller waits no longer, even where what it runs doesn't heed
 * the signal that it gets.
 *
 * @throws TimeLimitError after the time, and the caller's own reason after an abort.
 */
export async function withinTimeLimit<T>(
  seconds: number,
  caller: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  caller?.throwIfAborted()
  const controller = new AbortController()
  let cutOff = (_reason: Error): void => undefined
  const ended = new Promise<never>((_, reject) => {
    cutOff = (reason) => {
      reject(reason)
      controller.abort(reason)
    }
  })
  const abandon = () => cutOff(caller?.reason as Error)
  const timer = setTimeout(
    () => cutOff(new TimeLimitError(`there was no answer within ${seconds} s`)),
    seconds * 1000,
  )
  caller?.addEventListener('abort', abandon, { once: true })
  try {
    return await Promise.race([call(controller.signal), ended])
  } finally {
    clearTimeout(timer)
    caller?.removeEventListener('abort', abandon)
  }
}
