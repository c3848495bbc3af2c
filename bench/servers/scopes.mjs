export const bucket = 'bench'
export const large = 'user:large'
export const small = { scope: 'user:small', rows: 1000 }
/** Every scope has the same number of rows of this route, so they are rare in a large one. */
export const rareRoute = { name: 'rare', rows: 200 }
/** Of this many rows, one is pending, one is deleted, and the others are active. */
export const RARE_STATUS = 100
export const OTHER_SCOPES = 1000

export async function expectRightSums(store) {
  for (const scope of [large, small.scope]) {
    const differences = await store.checkUsage(scope)
    if (differences.length > 0) throw new Error(`The counters of ${scope} differ from its rows.`)
  }
}
