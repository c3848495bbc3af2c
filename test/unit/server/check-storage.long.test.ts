import { it } from 'vitest'
import { checkBesideTraffic } from './storage-traffic.js'

it('checkStorage reports nothing that is merely in flight, whatever happens between its calls', () =>
  checkBesideTraffic(1000))
