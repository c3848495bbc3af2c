import type { StorageObjectStore } from '../../core/store/contract.js'
import type { StoredEvent } from '../../core/store/events.js'

/** What an event handler gets besides the event. */
export interface EventContext {
  /** Aborts when the claim is lost: another process may be handling the event by then. */
  readonly signal: AbortSignal
}

/**
 * Handles one event. The event is removed once the handler has returned. If it throws, the event is retried later, and the later
 * events of its object wait. An event can arrive more than once, with the same `id`.
 */
export type EventHandler = (event: StoredEvent, context: EventContext) => unknown

/** The methods of a store that deliver events. */
export type EventStore = Pick<StorageObjectStore, 'claimEvents' | 'settleEvents' | 'extendClaims'>
