import { groups, isScripts } from '../../conformance-groups.js'
import { mongoConformance } from './mongo-conformance.js'

mongoConformance({ driver: 7, test: groups(isScripts), numRuns: 10, delays: 3 })
