import { everyGroup } from '../../conformance-groups.js'
import { mongoConformance } from './mongo-conformance.js'

mongoConformance({ driver: 7, test: everyGroup, numRuns: 1, delays: 2 })
