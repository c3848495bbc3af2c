import { randomUUID } from 'node:crypto'
import { describe } from 'vitest'
import { testListing } from './listing.js'
import { storages } from './storages.js'

describe.each(storages)('the listing of $name', (kind) => {
  testListing(() => ({ storage: kind.open({}), freshBucket: async () => randomUUID() }), 5)
})
