import { roundTripTests } from './round-trips.js'

roundTripTests(7)
