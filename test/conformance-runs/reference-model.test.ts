import { describe, it } from 'vitest'
import { storeConformance } from '@svc/db/conformance'
import { modelStore } from './model-store.js'

storeConformance({
  name: 'the reference model as a store',
  createStore: ({ now }) => modelStore(now),
  test: { describe, it },
  // Against itself the scripts find little; the cases are what the model is to be held to.
  numRuns: 10,
})
