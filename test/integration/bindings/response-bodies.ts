import type { Handler } from '@svc/db'
import { occurrence } from './occurrence.js'

export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

export function answering(respond: () => Response): Handler {
  return async () => respond()
}

/** A body that gives these pieces, then waits for ever; tells when it was cancelled. */
export function unfinishedBody(...pieces: readonly string[]) {
  const cancelled = occurrence<unknown>()
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => pieces.forEach((piece) => controller.enqueue(bytes(piece))),
    cancel: cancelled.happen,
  })
  return { body, cancelled: cancelled.happened }
}

/** A body that fails after these pieces. */
export function failingBody(reason: unknown, ...pieces: readonly string[]) {
  const left = [...pieces]
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = left.shift()
      if (piece === undefined) controller.error(reason)
      else controller.enqueue(bytes(piece))
    },
  })
}
