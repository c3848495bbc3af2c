import type { StoreDriver } from '../../core/store/driver.js'
import type { Call } from './connection/deadline.js'
import type { Namespace } from './connection/namespace.js'
import { readWithRetry } from './connection/reads.js'
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
  return {
    async claimEvents(command) {
      return run((call) => claims.run(call, command))
    },

    async settleEvents(command) {
      return settleEvents(namespace, run, command)
    },

    async extendClaims(command) {
      return run((call) => extendClaims(namespace, call, command))
    },

    async listEvents(query) {
      return run((call) => readWithRetry(namespace, call, listEvents(namespace, query)))
    },

    async countEvents(query) {
      return run((call) => readWithRetry(namespace, call, countEvents(namespace, query)))
    },

    async recordsEvents() {
      return (await run((call) => readState(namespace, call))).events
    },
  }
}
