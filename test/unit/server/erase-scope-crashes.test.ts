import { describeErasureCrashes } from './describe-erasure-crashes.js'

describeErasureCrashes({ step: 25 })
