// Prints the closing line of a test run from vitest's JSON reports: `N passed, N failed`.
// Exits with 1 if a test failed, if none ran or if a report is missing.
import { readFileSync } from 'node:fs'

const totals = { passed: 0, failed: 0, skipped: 0 }
for (const path of process.argv.slice(2)) {
  const files = readReport(path)
  // Without a report, vitest itself failed to start.
  if (files.length === 0) totals.failed += 1
  for (const file of files) {
    // A file that failed before its first test has no test results, but must be counted.
    if (file.status === 'failed' && file.assertionResults.length === 0) totals.failed += 1
    for (const { status } of file.assertionResults) {
      totals[status === 'passed' || status === 'failed' ? status : 'skipped'] += 1
    }
  }
}

const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`)
if (totals.failed > 0 || totals.passed === 0) process.exitCode = 1

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).testResults
  } catch (error) {
    console.error(`No test report at ${path}: ${error.message}`)
    return []
  }
}
