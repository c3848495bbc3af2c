import { describeCrashes } from './crash-flows.js'

describeCrashes()
