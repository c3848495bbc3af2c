// Prints the failed tests of vitest's JSON reports, each with the command that repeats it, and the closing line
// `N passed, N failed`. Exits with 1 if a test failed, if none ran or if a report is missing.
// Usage: node .ci/test-totals.mjs COMMAND REPORT [COMMAND REPORT...], where COMMAND made the REPORT.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const totals = { passed: 0, failed: 0, skipped: 0 }
const failures = []
const [, , ...runs] = process.argv
if (runs.length === 0 || runs.length % 2 === 1) {
  console.error('Usage: node .ci/test-totals.mjs COMMAND REPORT [COMMAND REPORT...]')
  process.exit(2)
}
for (let i = 0; i < runs.length; i += 2) {
  const [command, path] = runs.slice(i, i + 2)
  const files = readReport(path)
  // Without a report, vitest itself failed to start.
  if (files.length === 0) totals.failed += 1
  for (const file of files) {
    // A file that failed before its first test has no test results, but must be counted.
    if (file.status === 'failed' && file.assertionResults.length === 0) {
      totals.failed += 1
      failures.push(describe({ command, file, error: file.message }))
    }
    for (const { status, fullName, failureMessages } of file.assertionResults) {
      totals[status === 'passed' || status === 'failed' ? status : 'skipped'] += 1
      if (status === 'failed')
        failures.push(describe({ command, file, test: fullName, error: failureMessages[0] }))
    }
  }
}

// Repeated here, because the output above may be long or cut.
for (const failure of failures) console.log(failure)
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`)
if (totals.failed > 0 || totals.passed === 0) process.exitCode = 1

function describe({ command, file, test, error }) {
  const path = relative(process.cwd(), file.name)
  const only = test === undefined ? '' : ` -t ${quoted(`^${escaped(test)}$`)}`
  const reason = String(error).slice(0, 1000).split('\n').slice(0, 8).join('\n  ')
  return `FAILED ${path}${test === undefined ? '' : `: ${test}`}\n  ${reason}\n  Repeat it alone: ${command} ${path}${only}`
}

/** Escapes a title for `-t`, which takes a regular expression. */
function escaped(title) {
  return title.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** Quotes an argument for the shell. */
function quoted(argument) {
  return `'${argument.replaceAll("'", "'\\''")}'`
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).testResults
  } catch (error) {
    console.error(`No test report at ${path}: ${error.message}`)
    return []
  }
}
