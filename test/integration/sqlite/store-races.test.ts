import { racesOfProcesses } from './store-races.js'

await racesOfProcesses({ processes: 2, calls: 60 })
