import { everyGroup, groups } from '../../conformance-groups.js'
import { conformanceOnPglite, conformanceOnPostgres, conformanceOnPostgresJs } from './conformance.js'

conformanceOnPostgres({ test: everyGroup, numRuns: 1 })

// The statements are those of a server. Other drivers can only differ in how they send and receive values.
const ofValues = groups((group) => ['records', 'strings', 'metadata'].includes(group))
conformanceOnPostgresJs({ test: ofValues, numRuns: 1 })
conformanceOnPglite({ test: ofValues, numRuns: 1 })
