import { describe } from 'vitest'
import { describeConcurrentPairs } from './concurrent-pairs.js'

describe('two operations, in every order of their calls', () => {
  describeConcurrentPairs()
})
