/** What an event handler gets besides the event. */
export interface EventContext {
  /**
   * Aborts when the result of the handler no longer counts: the claim was lost, so another process may handle the event, the
   * handler has run for `handlerSeconds`, or it was still running 30 seconds after the job was stopped. Pass it on to `fetch`
   * and other calls that take one.
   */
  readonly signal: AbortSignal
}

/** Aborts the signal of one call of the handler. */
export class HandlerAbortion {
  /** What the handler gets. The signal is created when it is first read: that takes as long as a fifth of a delivery. */
  readonly context: EventContext
  #controller: AbortController | null = null
  #reason: Error | null = null

  constructor() {
    const signal = () => this.#signal()
    this.context = {
      get signal() {
        return signal()
      },
    }
  }

  abort(reason: Error): void {
    this.#reason ??= reason
    this.#controller?.abort(reason)
  }

  #signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }
}
