import { describeOtherAnswers, describeStrangers, STRANGERS } from './describe-isolation.js'

// Each stranger sends every fifth request. In the long run, each sends all.
describeStrangers((turn) => [STRANGERS[turn % STRANGERS.length]!])
describeOtherAnswers()
