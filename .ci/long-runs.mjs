// Prints the long runs that a change touches, one path a line: what `npm run test:long -- PATH...` takes.
// The change is what differs from CI_BASE. Default: the merge base with the main branch; on that branch, the commit before.
// CI_LONG=1 prints all long runs.
import { execFileSync } from 'node:child_process'

const STORE = [
  'test/conformance-runs/memory',
  'test/conformance-runs/mutants',
  'test/integration/postgres/conformance',
]
const BINDING = ['test/integration/express']

/** Paths of changes, as far as they begin, and the long runs that they touch. Kills and elections are for the night. */
const TOUCHED = [
  { changed: ['src/core/store/'], runs: STORE },
  {
    changed: ['src/adapters/memory/'],
    runs: ['test/conformance-runs/memory', 'test/conformance-runs/mutants'],
  },
  {
    changed: ['src/adapters/postgres/'],
    runs: ['test/integration/postgres/conformance', 'test/integration/postgres/races'],
  },
  {
    changed: ['src/adapters/mongo/'],
    runs: ['test/integration/mongo/conformance', 'test/integration/mongo/races'],
  },
  { changed: ['src/adapters/redis/'], runs: ['test/integration/redis'] },
  { changed: ['src/storage/s3/'], runs: ['test/integration/s3'] },
  { changed: ['src/server/jobs/'], runs: ['test/unit/server'] },
  { changed: ['src/core/http/', 'src/bindings/'], runs: BINDING },
  { changed: ['test/conformance/', 'test/broken-stores/'], runs: ['test/conformance-runs'] },
]

/** What changes everything. */
const EVERYWHERE = /^(package(-lock)?\.json|[^/]*\.config\.(js|ts)|tsconfig[^/]*\.json|build\/.*)$|\.sql$/

for (const run of process.env.CI_LONG === '1' ? ['test/'] : touchedBy(changedFiles())) console.log(run)

/** @param {string[] | null} files */
function touchedBy(files) {
  if (files === null || files.some((file) => EVERYWHERE.test(file)))
    return [...new Set([...STORE, ...BINDING])]
  const begins = (file) => (path) => file.startsWith(path)
  const runs = TOUCHED.filter(({ changed }) => files.some((file) => changed.some(begins(file))))
  const changedRuns = files.filter((file) => file.endsWith('.long.test.ts'))
  return [...new Set([...runs.flatMap((touched) => touched.runs), ...changedRuns])]
}

/** Returns the files of the change; `null` if this clone doesn't have the commit to compare with. */
function changedFiles() {
  try {
    return git('diff', '--name-only', '--diff-filter=d', process.env.CI_BASE || baseCommit())
      .split('\n')
      .filter(Boolean)
  } catch {
    return null
  }
}

function baseCommit() {
  const head = git('rev-parse', 'HEAD')
  const base = git('merge-base', 'HEAD', mainBranch())
  return base === head ? git('rev-parse', 'HEAD~1') : base
}

function mainBranch() {
  try {
    return git('rev-parse', '--verify', 'origin/main')
  } catch {
    return git('rev-parse', '--verify', 'main')
  }
}

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
