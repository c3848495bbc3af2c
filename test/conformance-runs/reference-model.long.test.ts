import { storeConformance } from '@svc/db/conformance'
import { groups, isLongLists } from '../conformance-groups.js'
import { modelStore } from './model-store.js'

storeConformance({
  name: 'the reference model as a store',
  createStore: ({ now, events }) => modelStore(now, events),
  // The model scans all its rows in each call.
  test: groups((group) => !isLongLists(group)),
  // The scripts compare the model with itself, so a few runs are enough.
  numRuns: 10,
})
