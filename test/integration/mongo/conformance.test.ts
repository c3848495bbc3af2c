import { mongoConformance } from './mongo-conformance.js'

mongoConformance({ driver: 7, numRuns: 2, delays: 2 })
