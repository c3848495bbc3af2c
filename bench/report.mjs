import { barText, printRatios } from './ratio-table.mjs'

/**
 * Opens the report of a benchmark. Each table is printed immediately, and its rows are kept for the final table. A
 * benchmark in a separate process sends its rows to the process that started it.
 */
export function openReport(benchmark) {
  const rows = []

  /** Records ratios `{ name, ratio, bar, missed }` that the caller printed. */
  function record(title, results) {
    for (const { name, ratio, bar, missed } of results) {
      rows.push({ name: `${benchmark}: ${title}: ${name}`, ratio, bar, ok: !missed })
    }
  }

  return {
    rows,
    record,

    /** Prints and records results of `compare` or `compareWaiting`. */
    add(title, sides, results) {
      printRatios({ title, sides, results })
      record(title, results)
    },

    /** Ends the report. With `check`, the process fails if a bar was missed or `isCorrect` is `false`. */
    close({ check, isCorrect }) {
      for (const { name, ratio, bar } of rows.filter(({ ok }) => !ok)) {
        console.error(`Missed bar: ${name}: ${ratio.toFixed(2)} (must be ${barText(bar)}).`)
      }
      if (!isCorrect) console.error(`${benchmark}: sums or quotas were wrong (see above).`)
      if (check && (!isCorrect || rows.some(({ ok }) => !ok))) process.exitCode = 1
      process.send?.({ rows })
    },
  }
}
