import type { StoreDriver } from '../../core/store/driver.js'
import { readMethods } from './driver-reads.js'
import { writeMethods } from './driver-writes.js'
import type { Tables } from './tables.js'

/** Creates the store driver over tables in memory. Every method is atomic because it never awaits. */
export function createMemoryDriver(tables: Tables): StoreDriver {
  const { events } = tables
  return {
    ...readMethods(tables),
    ...writeMethods(tables),

    claimEvents: async (command) => events.claim(command),
    settleEvents: async (command) => events.settle(command),
    extendClaims: async (command) => events.extend(command),
    listEvents: async (query) => events.page(query),
    countEvents: async (query) => events.count(query),
    recordsEvents: async () => events.isRecording,

    migrate: async () => ({ from: 0, to: 0 }),
    verify: async () => [],
    checkUsage: async (scope) => tables.recount(scope, false),
    repairUsage: async (scope) => tables.recount(scope, true),
    ping: async () => undefined,
    close: async () => undefined,
  }
}
