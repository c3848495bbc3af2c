import { deliverEvents } from '@svc/db'

const POLL_SECONDS = 5

/** Runs an event handler for a server until `stop()`. What is left then is delivered after the next start. */
export function eventDelivery(handle) {
  const stopping = new AbortController()
  const running = new Set()
  let job = null

  return {
    /** For `createS3Server()`. */
    async onEvent(event, context) {
      stopping.signal.throwIfAborted()
      const handled = handle(event, context).finally(() => running.delete(handled))
      running.add(handled)
      await handled
    },
    /** Starts the job that retries failed events and delivers those of earlier runs. */
    start(s3) {
      job = deliverEvents(s3, { pollSeconds: POLL_SECONDS, signal: stopping.signal })
    },
    hasStopped: () => stopping.signal.aborted,
    /** Resolves once the running handlers no longer need the database. */
    async stop() {
      stopping.abort()
      await Promise.allSettled([job, ...running])
    },
  }
}
