import { partsOf } from '../../core/store/store-parts.js'

const MESSAGE =
  'onEvent is never called, because the database records no events. ' +
  'Turn them on with "svc-db migrate --events on", or with the option events of the adapter and migrate().'

/**
 * Returns a function that reports once if the database records no events. It asks only where there was nothing to deliver. A
 * store that wraps another one can't tell.
 */
export function createEventsOffNotice(store: object, report: (error: unknown) => void): () => Promise<void> {
  let isDone = false
  return async () => {
    const driver = partsOf(store)?.driver
    if (isDone || !driver || (await driver.recordsEvents())) return
    // Concurrent calls may both have asked.
    if (!isDone) report(new Error(MESSAGE))
    isDone = true
  }
}
