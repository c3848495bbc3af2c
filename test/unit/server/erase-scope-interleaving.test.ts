import { describeConcurrentErasures } from './concurrent-erasures.js'

describeConcurrentErasures(false)
