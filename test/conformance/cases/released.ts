import type { Leftover } from '../../../src/core/store/records.js'
import { SECOND } from '../clock.js'
import type { Given } from '../given.js'
import { numbers } from '../given.js'

/** Reserves and releases attempts under different keys, a second apart. Returns their leftovers, oldest first. */
export async function released(given: Given, count: number): Promise<Leftover[]> {
  for (const index of numbers(count)) {
    await given.reserve({ key: `key ${index}`, storageKey: `stored ${index}` })
    await given.store.release({ bucket: 'bucket', key: `key ${index}` })
    given.clock.advance(SECOND)
  }
  return given.leftovers()
}
