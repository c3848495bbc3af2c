import { describeStrangers, STRANGERS } from './describe-isolation.js'

describeStrangers(() => STRANGERS)
