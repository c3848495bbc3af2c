// Prints the failed tests of vitest's JSON reports and the closing line `N passed, N failed`.
// Exits with 1 if a test failed, if none ran or if a report is missing.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const totals = { passed: 0, failed: 0, skipped: 0 }
const failures = []
for (const path of process.argv.slice(2)) {
  const files = readReport(path)
  // Without a report, vitest itself failed to start.
  if (files.length === 0) totals.failed += 1
  for (const file of files) {
    // A file that failed before its first test has no test results, but must be counted.
    if (file.status === 'failed' && file.assertionResults.length === 0) {
      totals.failed += 1
      failures.push(describe(file, file.name, file.message))
    }
    for (const { status, fullName, failureMessages } of file.assertionResults) {
      totals[status === 'passed' || status === 'failed' ? status : 'skipped'] += 1
      if (status === 'failed') failures.push(describe(file, fullName, failureMessages[0]))
    }
  }
}

// Repeated here, because the output above may be long or cut.
for (const failure of failures) console.log(failure)
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`)
if (totals.failed > 0 || totals.passed === 0) process.exitCode = 1

function describe({ name }, test, error) {
  return `FAILED ${relative(process.cwd(), name)}: ${test}\n  ${String(error).slice(0, 1000).split('\n').slice(0, 8).join('\n  ')}`
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).testResults
  } catch (error) {
    console.error(`No test report at ${path}: ${error.message}`)
    return []
  }
}
