import { describe, it } from 'node:test'
import { storeConformance } from '@svc/db/conformance'
import { memoryAdapter } from '@svc/db/memory'

// Run by node-test.test.ts in a process of its own.
storeConformance({
  name: 'memoryAdapter',
  test: { describe, it },
  numRuns: 5,
  createStore({ now }) {
    const store = memoryAdapter({ now })
    if (process.env['BROKEN'] === undefined) return store
    return { ...store, release: async () => null }
  },
})
