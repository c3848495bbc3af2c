import { describePlans, EVERY_COMBINATION } from './plans.js'

describePlans(EVERY_COMBINATION)
