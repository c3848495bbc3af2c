import { storeConformance } from '@svc/db/conformance'
import { memoryAdapter } from '@svc/db/memory'
import { memoryPlaces } from '../broken-stores/memory-places.js'
import { everyGroup, groups } from '../conformance-groups.js'

storeConformance({
  name: 'memoryAdapter',
  createStore: memoryAdapter,
  close: (store) => store.close(),
  test: everyGroup,
  numRuns: 1,
})

const NEEDING_PLACES = [
  'a place without a schema',
  'spoiled usage',
  'two stores on one place',
  'two stores on one place with events',
  '`scopes` of the driver',
]

storeConformance({
  name: 'memory stores on shared places',
  ...memoryPlaces(),
  driver: true,
  test: groups((group) => NEEDING_PLACES.includes(group)),
})
