import { describe, it } from 'vitest'
import { storeConformance } from '@svc/db/conformance'
import { modelStore } from './model-store.js'

storeConformance({
  name: 'the reference model as a store',
  createStore: ({ now, events }) => modelStore(now, events),
  test: { describe, it },
  // The scripts compare the model with itself, so a few runs are enough.
  numRuns: 10,
})
