import { partsOf } from '../../core/store/store-parts.js'
import type { EventSource } from './delivery.js'

const EVENTS_OFF =
  'onEvent is never called, because the database records no events. ' +
  'Turn them on with "svc-db migrate --events on", or with the option events of the adapter and migrate().'

/** Finds out, once for each server, whether there can be events at all. */
export class RecordingCheck {
  readonly #source: Pick<EventSource, 'store' | 'report'>
  #isKnown = false

  constructor(source: Pick<EventSource, 'store' | 'report'>) {
    this.#source = source
  }

  /** Asks once whether the database records events, and reports if not. A store that wraps another one can't tell. */
  async reportIfOff(): Promise<void> {
    const driver = partsOf(this.#source.store)?.driver
    if (this.#isKnown || !driver) return
    const isOn = await driver.recordsEvents()
    // Concurrent calls may both have asked.
    if (!isOn && !this.#isKnown) this.#source.report(new Error(EVENTS_OFF))
    this.#isKnown = true
  }
}
