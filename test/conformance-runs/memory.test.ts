import { storeConformance } from '@svc/db/conformance'
import { memoryAdapter } from '@svc/db/memory'
import { groupsOnce } from '../conformance-groups.js'
import { runs } from '../long-runs.js'
import { delayed } from './delayed-store.js'
import { memoryPlaces } from '../broken-stores/memory-places.js'

storeConformance({
  name: 'memoryAdapter',
  createStore: memoryAdapter,
  close: (store) => store.close(),
  test: groupsOnce(),
  numRuns: runs(20, 50),
})

storeConformance({
  name: 'memory stores on shared places',
  ...memoryPlaces(),
  driver: true,
  test: groupsOnce(),
  numRuns: runs(20, 50),
})

storeConformance({
  name: 'memoryAdapter over a simulated network',
  createStore: (context) => delayed(memoryAdapter(context)),
  test: groupsOnce(),
  numRuns: runs(20, 50),
  delays: 2,
})
