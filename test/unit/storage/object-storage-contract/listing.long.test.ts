import { randomUUID } from 'node:crypto'
import { describe } from 'vitest'
import { testPagesOfListing } from './listing.js'
import { storages } from './storages.js'

describe.each(storages)('the listing of $name', (kind) => {
  testPagesOfListing(() => ({ storage: kind.open({}), freshBucket: async () => randomUUID() }), 200)
})
