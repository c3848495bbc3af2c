import { describePlans, EACH_SHAPE } from './plans.js'

describePlans(EACH_SHAPE)
