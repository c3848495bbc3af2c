import { storeConformance } from '@svc/db/conformance'
import { memoryAdapter } from '@svc/db/memory'
import { memoryPlaces } from '../broken-stores/memory-places.js'
import { groups, isScripts } from '../conformance-groups.js'
import { delayed } from './delayed-store.js'

const scripts = { test: groups(isScripts), numRuns: 100 }

storeConformance({ name: 'memoryAdapter', createStore: memoryAdapter, ...scripts })

storeConformance({ name: 'memory stores on shared places', ...memoryPlaces(), driver: true, ...scripts })

storeConformance({
  name: 'memoryAdapter over a simulated network',
  createStore: (context) => delayed(memoryAdapter(context)),
  delays: 2,
  ...scripts,
})
