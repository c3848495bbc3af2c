import { describeConcurrentErasures } from './concurrent-erasures.js'

describeConcurrentErasures(true)
