import { describe, it } from 'vitest'
import { recordingStore } from './changed-objects.js'
import { testFairDelivery } from './fair-delivery.js'
import { checkRandomDelivery } from './random-delivery.js'

describe('delivery of events of many owners', () => {
  testFairDelivery(recordingStore)

  it('delivers every change once, in the order of its object', () => checkRandomDelivery(recordingStore, 20))
})
