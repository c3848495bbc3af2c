import { memoryAdapter } from '@svc/db/memory'

export const bucket = 'bench'
export const scope = 'user:bench'
/** Every scope has the same number of rows of this route, so they are rare in a large one. */
export const rareRoute = { name: 'rare', rows: 200 }

const EVERY_TENTH = 10

/**
 * Creates a store with one scope of this many rows. Every tenth row is pending, and 200 active rows have the rare
 * route.
 */
export function storeWithRows(count) {
  const gap = count / rareRoute.rows
  const objects = Array.from({ length: count }, (_, index) => ({
    scope,
    bucket,
    key: `files/${index}`,
    ...(index % EVERY_TENTH === 1 ? { status: 'pending', declaredSize: 1000 } : { size: 1000 }),
    route: index % gap === 0 ? rareRoute.name : 'common',
  }))
  return memoryAdapter({ objects })
}
