import { everyGroup } from '../../conformance-groups.js'
import { mongoConformance } from './mongo-conformance.js'

mongoConformance({ driver: 7, test: everyGroup, numRuns: 2, delays: 2 })
