import { describe, it } from 'vitest'
import { storeConformance } from '@svc/db/conformance'
import { memoryAdapter } from '@svc/db/memory'
import { delayed } from './delayed-store.js'

storeConformance({
  name: 'memoryAdapter',
  createStore: memoryAdapter,
  close: (store) => store.close(),
  test: { describe, it },
})

storeConformance({
  name: 'memoryAdapter as if over a network',
  createStore: ({ now }) => delayed(memoryAdapter({ now })),
  test: { describe, it },
  numRuns: 30,
  delays: 2,
})
