import { describe, it } from 'vitest'
import { storeConformance } from '@svc/db/conformance'
import { modelStore } from './model-store.js'

storeConformance({
  name: 'the reference model as a store',
  createStore: ({ now, events }) => modelStore(now, events),
  // The model scans all its rows in each call.
  test: { describe: (title, body) => describe.skipIf(title.startsWith('long lists'))(title, body), it },
  // The scripts compare the model with itself, so a few runs are enough.
  numRuns: 10,
})
