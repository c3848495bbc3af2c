import type { Handler } from '@svc/db'
import { deferred } from './deferred.js'

export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

export function respondWith(respond: () => Response): Handler {
  return async () => respond()
}

/** Creates a body that yields these chunks and then never ends. `cancelled` resolves when it is cancelled. */
export function unfinishedBody(...chunks: readonly string[]) {
  const cancelled = deferred<unknown>()
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => chunks.forEach((chunk) => controller.enqueue(bytes(chunk))),
    cancel: cancelled.resolve,
  })
  return { body, cancelled: cancelled.promise }
}

/** Creates a body that fails after these chunks. */
export function failingBody(reason: unknown, ...chunks: readonly string[]) {
  const left = [...chunks]
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = left.shift()
      if (chunk === undefined) controller.error(reason)
      else controller.enqueue(bytes(chunk))
    },
  })
}
