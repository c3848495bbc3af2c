import { describe } from 'vitest'
import { describeConcurrentPairs } from './concurrent-pairs.js'

describe('two operations, in every sixtieth order of their calls that changes between them once', () => {
  describeConcurrentPairs({ maxSwitches: 1, step: 60 })
})
