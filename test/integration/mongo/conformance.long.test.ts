import { mongoConformance } from './mongo-conformance.js'

mongoConformance({ driver: 7, numRuns: 6, delays: 3 })
