import { describe, it } from 'node:test'
import { storeConformance } from '@svc/db/conformance'
import { memoryAdapter } from '@svc/db/memory'

// node-test.long.test.ts runs this file in a separate process.
storeConformance({
  name: 'memoryAdapter',
  test: { describe, it },
  numRuns: 5,
  createStore({ now, events }) {
    const store = memoryAdapter({ now, events })
    if (process.env['BROKEN'] === undefined) return store
    return { ...store, release: async () => null }
  },
})
