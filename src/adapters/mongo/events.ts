import type { StoreDriver } from '../../core/store/driver.js'
import type { Call } from './connection/deadline.js'
import type { Namespace } from './connection/namespace.js'
import { readWithRetry, type Read } from './connection/reads.js'
import { countEvents, listEvents } from './reads/events.js'
import { readState } from './schema/version.js'
import { createClaimWrites, extendClaims } from './writes/claims.js'
import { settleEvents } from './writes/settle-events.js'

type EventMethods = Pick<
  StoreDriver,
  'claimEvents' | 'settleEvents' | 'extendClaims' | 'listEvents' | 'countEvents' | 'recordsEvents'
>

export interface EventMethodsOptions {
  readonly namespace: Namespace
  /** Runs a call with a deadline. */
  readonly run: <T>(work: (call: Call) => Promise<T>) => Promise<T>
}

/** Creates the driver's methods of events. */
export function createEventMethods({ namespace, run }: EventMethodsOptions): EventMethods {
  const claims = createClaimWrites(namespace)
  const read = <T>(query: Read<T>) => run((call) => readWithRetry(namespace, call, query))
  return {
    claimEvents: (command) => run((call) => claims.run(call, command)),
    settleEvents: (command) => settleEvents(namespace, run, command),
    extendClaims: (command) => run((call) => extendClaims(namespace, call, command)),
    listEvents: async (query) => read(listEvents(namespace, query)),
    countEvents: (query) => read(countEvents(namespace, query)),
    recordsEvents: async () => (await run((call) => readState(namespace, call))).events,
  }
}
