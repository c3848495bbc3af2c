import { memoryAdapter } from '@svc/db/memory'

export const bucket = 'bench'
export const scope = 'user:bench'
/** Rows of this route are as many in every scope, so that they are rare in a large one. */
export const rareRoute = { name: 'rare', rows: 200 }

const EVERY_TENTH = 10

/** A store with one scope of that many rows: every tenth pending, the others active, 200 of these of the rare route. */
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
