import { describe } from 'vitest'
import { describeConcurrentPairs } from './concurrent-pairs.js'

describe('two operations, in orders of their calls that change between them once', () => {
  describeConcurrentPairs(1)
})
