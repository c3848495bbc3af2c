import { barText, printRatios } from './ratio-table.mjs'

/**
 * What a benchmark has to say: each table is printed as it comes, and its lines are kept as rows of the one table that
 * stands at the end. A benchmark in a process of its own sends its rows to the one that started it.
 */
export function openReport(benchmark) {
  const rows = []

  /** Ratios that were printed in another way: `{ name, ratio, bar, missed }` each. */
  function record(title, results) {
    for (const { name, ratio, bar, missed } of results) {
      rows.push({ name: `${benchmark}: ${title}: ${name}`, ratio, bar, ok: !missed })
    }
  }

  return {
    rows,
    record,

    /** Results of `compare` or `compareWaiting`. */
    add(title, sides, results) {
      printRatios({ title, sides, results })
      record(title, results)
    },

    /** The end of a process of its own: with `check` it fails where a bar was missed, or where `isRight` is `false`. */
    close({ check, isRight }) {
      for (const { name, ratio, bar } of rows.filter(({ ok }) => !ok)) {
        console.error(`Missed its bar: ${name}: ${ratio.toFixed(2)} (bar ${barText(bar)}).`)
      }
      if (!isRight) console.error(`${benchmark}: sums or quotas were wrong: see above.`)
      if (check && (!isRight || rows.some(({ ok }) => !ok))) process.exitCode = 1
      process.send?.({ rows })
    },
  }
}
