import { it } from 'vitest'
import { recordingStore } from './changed-objects.js'
import { checkRandomDelivery } from './random-delivery.js'

it('delivers every change once, in the order of its object, in many runs', () =>
  checkRandomDelivery(recordingStore, 1000))
