import { parseArgs } from 'node:util'

/** What the command line says: `--check`, and `--rows=N` for the size of the large scope. Ends the process where it is wrong. */
export function readOptions({ rows: usual, leastRows }) {
  const { values } = parseArgs({
    options: { check: { type: 'boolean', default: false }, rows: { type: 'string', default: String(usual) } },
  })
  const rows = Number(values.rows)
  if (!Number.isSafeInteger(rows) || rows < leastRows) {
    console.error(`--rows must be a number of ${leastRows} or more.`)
    process.exit(2)
  }
  return { check: values.check, rows, deepPage: deepPageOf(rows) }
}

/** The deepest is page 10 000; of a smaller scope one that is full all the same, with active rows only. */
function deepPageOf(rows) {
  return Math.min(10_000, Math.floor((rows * 0.97) / 100))
}

export function inWords(number) {
  return Math.round(number).toLocaleString('en')
}
