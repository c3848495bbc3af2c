import { parseArgs } from 'node:util'
import { rareRoute } from './scopes.mjs'

/**
 * Reads the command line: `--check`, and `--rows=N` for the size of the large scope. Exits the process if it is
 * invalid.
 */
export function readOptions({ rows: usual, leastRows }) {
  const { values } = parseArgs({
    options: { check: { type: 'boolean', default: false }, rows: { type: 'string', default: String(usual) } },
  })
  const rows = Number(values.rows)
  if (!Number.isSafeInteger(rows) || rows < leastRows) {
    console.error(`--rows must be an integer of ${leastRows} or more (got ${values.rows}).`)
    process.exit(2)
  }
  return { check: values.check, rows, deepPage: deepPageOf(rows) }
}

/**
 * Returns page 10,000 or, in a smaller scope, a page near the end that is full even without pending rows and those of
 * the rare route.
 */
function deepPageOf(rows) {
  return Math.min(10_000, Math.floor((rows * 0.97 - rareRoute.rows) / 100))
}

export function withSeparators(number) {
  return Math.round(number).toLocaleString('en')
}
