import { everyGroup, groups } from '../../conformance-groups.js'
import { conformanceOnPostgres, conformanceOnPostgresJs } from './conformance.js'

conformanceOnPostgres({ test: everyGroup, numRuns: 1 })

// The statements are those of the server. Another driver can only differ in how it sends and receives values. Long runs have the
// whole suite through postgres.js and on PGlite.
const ofValues = groups((group) => ['records', 'strings', 'metadata'].includes(group))
conformanceOnPostgresJs({ test: ofValues, numRuns: 1 })
