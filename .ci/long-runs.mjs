// Prints the long runs that a change touches, one path a line: what `npm run test:long -- PATH...` takes.
// The change is what differs from CI_BASE. Default: the merge base with the main branch; on that branch, the commit before.
// CI_LONG=1 prints all long runs.
import { execFileSync } from 'node:child_process'

const MEMORY = ['test/conformance-runs/memory', 'test/conformance-runs/mutants']
const STORE = [...MEMORY, 'test/integration/postgres/conformance']
/** Hono in a worker, and the handler in other runtimes. */
const BINDING = ['test/package/runtimes']
/** The whole HTTP API in Koa and Hono, and every way to mount a binding in older versions. The rest is in `npm test`. */
const TABLES = [
  'test/integration/http-table/whole-tables.',
  ...['express', 'fastify', 'koa'].map((framework) => `test/integration/${framework}/http-table.`),
]
/** Clients and servers of two releases. */
const RELEASES = ['test/integration/upgrade/mixed-versions.']
/** The bindings in NestJS, Vite, functions and on Bun and Deno. The builds of `frameworks` take minutes, so they wait for the night. */
const SERVERS = ['test/package/servers']

/** The server's flows. Crashes and interleavings at every position take minutes: `npm test` has a share, and the rest waits for the night. */
const FLOWS = [
  ...['checks/', 'events/', 'import-objects/', 'check-storage.', 'clean-up-backlog.', 'ending-races.'],
  ...['erase-scope-crashes.', 'isolation.', 'refused-puts.', 'robustness.', 'temporary-property.'],
].map((run) => `test/unit/server/${run}`)

/** What the rules of the linters find. */
const LINT_RULES = ['prose', 'linear-patterns'].map((run) => `test/unit/${run}.`)

/** The client in Chromium, Firefox and WebKitGTK. They wait for most of their time. `faults` takes three minutes, so it waits for the night. */
const ENGINES = [
  'client.',
  'left-pages',
  'changed-files',
  'refused-bodies',
  'tabs-and-storage',
  'paused-uploads',
].map((run) => `test/browser/${run}.`)

/** The long runs of each part of the source, at most two minutes of them. The others wait for the night. */
const TOUCHED = [
  { path: 'src/core/store/', runs: [...STORE, 'test/unit/core/'] },
  { path: 'src/core/http/', runs: [...TABLES, ...BINDING, ...SERVERS, ...RELEASES] },
  { path: 'src/adapters/memory/', runs: MEMORY },
  {
    path: 'src/adapters/shared/lane/',
    runs: ['test/unit/adapters/shared', 'test/integration/postgres/races.', 'test/integration/mongo/races.'],
  },
  {
    path: 'src/adapters/postgres/',
    runs: [
      'test/integration/postgres/conformance',
      'test/integration/postgres/batches.',
      'test/integration/postgres/races.',
      'test/integration/postgres/crashes.',
    ],
  },
  {
    path: 'src/adapters/postgres/migrate/',
    runs: ['moves.', 'future-versions.', 'pglite.'].map((run) => `test/integration/postgres/${run}`),
  },
  {
    path: 'src/adapters/postgres/sql/',
    runs: ['moves.', 'plans-of-growing-tables.'].map((run) => `test/integration/postgres/${run}`),
  },
  { path: 'src/adapters/postgres/events.', runs: ['test/integration/postgres/fair-delivery.'] },
  { path: 'src/adapters/postgres/connection/pglite', runs: ['test/integration/postgres/pglite'] },
  {
    path: 'src/adapters/mongo/',
    // Two minutes. Races and crashes wait for the night.
    runs: ['test/integration/mongo/conformance'],
  },
  // The suite on node:sqlite waits for the night.
  {
    path: 'src/adapters/sqlite/',
    runs: ['conformance', 'races.', 'saved-forms.', 'http-table.'].map(
      (run) => `test/integration/sqlite/${run}`,
    ),
  },
  {
    path: 'src/adapters/redis/',
    runs: ['conformance', 'outages.', 'processes.'].map((run) => `test/integration/redis/${run}`),
  },
  { path: 'src/bindings/', runs: [...TABLES, ...BINDING, ...SERVERS] },
  { path: 'src/client/', runs: ['test/unit/client', 'test/package/toolchains', ...ENGINES] },
  {
    path: 'src/client/uploads/',
    runs: ['test/browser/many-files', 'test/browser/upload-pages', ...RELEASES],
  },
  { path: 'examples/uploads/', runs: ['test/browser/upload-pages'] },
  { path: 'src/server/', runs: FLOWS },
  { path: 'src/server/jobs/', runs: ['test/integration/postgres/jobs-'] },
  { path: 'src/server/jobs/import-', runs: ['test/integration/readme/snippets.'] },
  { path: 'src/server/events/', runs: ['test/integration/postgres/fair-delivery.', ...BINDING] },
  { path: 'src/server/files/verdicts', runs: ['test/integration/readme/clamav'] },
  { path: 'src/server/http/reading', runs: ['test/browser/pictures-for-scripts'] },
  { path: 'src/storage/local/', runs: ['test/browser/seeking', 'test/unit/client/doms.'] },
  {
    path: 'src/storage/',
    runs: [
      'test/unit/storage',
      'test/integration/s3/keys',
      'test/integration/s3/listing',
      'test/package/sdk-copies',
    ],
  },
  {
    path: 'src/storage/s3/',
    runs: [
      'test/integration/s3/swift.',
      'test/integration/s3/representative-crashes.',
      'test/browser/public-address.',
    ],
  },
  { path: '.textlintrc.yml', runs: LINT_RULES },
  { path: '.ci/re', runs: ['test/unit/release/'] },
  { path: 'test/broken-stores/', runs: ['test/conformance-runs'] },
  { path: 'test/conformance/', runs: ['test/conformance-runs', 'test/integration/readme/snippets.'] },
  ...['own-table', 'postgres', 'testing-your-app', 'writing-an-adapter'].map((page) => ({
    path: `docs/${page}.md`,
    runs: ['test/integration/readme/snippets.'],
  })),
  { path: 'test/package/applications/servers/', runs: SERVERS },
  {
    path: 'examples/demo/',
    runs: ['demo.', 'demo-start.', 'demo-restart'].map((run) => `test/browser/${run}`),
  },
  // Four development servers, too long for a part of the source: a change of the client or of URLs waits for the night.
  { path: 'test/package/applications/front-ends/', runs: ['test/package/front-ends'] },
]

/** What changes everything. */
const EVERYWHERE = /^(package(-lock)?\.json|[^/]*\.config\.(js|ts)|tsconfig[^/]*\.json|build\/.*)$|\.sql$/

for (const run of process.env.CI_LONG === '1' ? ['test/'] : touchedBy(changedFiles())) console.log(run)

/** @param {string[] | null} files */
function touchedBy(files) {
  if (files === null || files.some((file) => EVERYWHERE.test(file)))
    return [
      ...new Set([...STORE, ...BINDING, ...LINT_RULES, 'test/unit/client/doms.', 'test/package/types.']),
    ]
  const touched = TOUCHED.filter(({ path }) => files.some((file) => file.startsWith(path)))
  const changedRuns = files.filter((file) => file.endsWith('.long.test.ts'))
  return [...new Set([...touched.flatMap(({ runs }) => runs), ...changedRuns])]
}

/** Returns the files of the change; `null` if this clone doesn't have the commit to compare with. */
function changedFiles() {
  try {
    return git('diff', '--name-only', '--diff-filter=d', process.env.CI_BASE || baseCommit())
      .split('\n')
      .filter(Boolean)
  } catch {
    const base = process.env.CI_BASE || 'the commit to compare with'
    console.error(`This clone does not have ${base}, so the long runs are those of a change of everything.`)
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
