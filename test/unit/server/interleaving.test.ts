import { describe } from 'vitest'
import { describeConcurrentPairs } from './concurrent-pairs.js'

describe('two operations, in every thirtieth order of their calls that changes between them once', () => {
  describeConcurrentPairs({ maxSwitches: 1, step: 30 })
})
