import { abandonedTransactionTestsOnSet } from './abandoned-transactions.js'
import { everyGroup } from '../../conformance-groups.js'
import { clientOptionTests } from './client-options.js'
import { lostResponseTests } from './lost-responses.js'
import { mongoConformance } from './mongo-conformance.js'
import { roundTripTests } from './round-trips.js'

// By day, closed-connections.test.ts, late-connection.test.ts and migrate.test.ts use driver 6 too.
mongoConformance({ driver: 6, test: everyGroup, numRuns: 2, delays: 3 })
clientOptionTests(6)
lostResponseTests(6)
roundTripTests(6)
abandonedTransactionTestsOnSet(6)
