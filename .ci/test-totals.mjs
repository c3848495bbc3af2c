// Prints the closing line of a test run from vitest's JSON report: `N passed, N failed`.
// Exits non-zero when a test failed or none ran.
import { readFileSync } from 'node:fs'

const totals = { passed: 0, failed: 0, skipped: 0 }
for (const file of readReport(process.argv[2])) {
  // A file that broke before its first test has no tests to count, and must not vanish from the sum.
  if (file.status === 'failed' && file.assertionResults.length === 0) totals.failed += 1
  for (const { status } of file.assertionResults) {
    totals[status === 'passed' || status === 'failed' ? status : 'skipped'] += 1
  }
}

const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`)
if (totals.failed > 0 || totals.passed === 0) process.exitCode = 1

/** No report at all means that vitest itself didn't come up: nothing passed. */
function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).testResults
  } catch (error) {
    console.error(`No test report: ${error.message}`)
    return []
  }
}
