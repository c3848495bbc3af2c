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

    async claimEvents(command) {
      return events.claim(command)
    },

    async settleEvents(command) {
      return events.settle(command)
    },

    async extendClaims(command) {
      return events.extend(command)
    },

    async listEvents(query) {
      return events.page(query)
    },

    async countEvents(query) {
      return events.count(query)
    },

    async recordsEvents() {
      return events.isRecording
    },

    async migrate() {
      return { from: 0, to: 0 }
    },

    async verify() {
      return []
    },

    async checkUsage(scope) {
      return tables.recount(scope, false)
    },

    async repairUsage(scope) {
      return tables.recount(scope, true)
    },

    async ping() {},

    async close() {},
  }
}
