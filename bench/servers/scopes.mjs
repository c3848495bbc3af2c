export const bucket = 'bench'
export const large = 'user:large'
export const small = { scope: 'user:small', rows: 1000 }
/** Rows of this route are as many in every scope, so that they are rare in a large one. */
export const rareRoute = { name: 'rare', rows: 200 }
/** One row in so many is pending and one deleted, the others are active. */
export const RARE_STATUS = 100
export const OTHER_SCOPES = 1000

export async function expectRightSums(store) {
  for (const scope of [large, small.scope]) {
    const differences = await store.checkUsage(scope)
    if (differences.length > 0) throw new Error(`The counters of ${scope} are not those of its rows.`)
  }
}
