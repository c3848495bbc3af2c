import { racesOfProcesses } from './store-races.js'

/** Each of the 4 processes is killed once in each of 5 races. */
await racesOfProcesses({ processes: 4, calls: 200, repeats: 5 })
