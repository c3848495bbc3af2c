import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { entries } from './build/entries.js'
import { installedProgram } from './test/servers/installed-program.js'

// Tests import public names and get the source, so that coverage counts.
// The `package` project has no aliases, because it tests the published package.
const source = {
  alias: Object.entries(entries).map(([name, file]) => ({
    find: new RegExp(`^@svc/db${name === 'index' ? '' : `/${name}`}$`),
    replacement: fileURLToPath(new URL(file, import.meta.url)),
  })),
}

/**
 * The files that have a long version: 100 runs of each property, and more kills, rounds and flows. `npm test` runs them
 * with the short counts of `test/long-runs.ts`, `npm run test:long` runs only them, with the long ones.
 */
const longRuns = [
  'test/conformance-runs/**/*.test.ts',
  'test/integration/**/conformance*.test.ts',
  'test/integration/**/crashes.test.ts',
  'test/integration/**/races.test.ts',
]

/** MongoDB is the only server without a distribution package, so it may be missing. */
const hasMongoDB = Boolean(process.env['TEST_MONGODB_URL']) || installedProgram('mongod') !== null

export default defineConfig({
  test: {
    // Most files wait for servers; by default one processor would be left idle.
    maxWorkers: '100%',
    // Ends what hangs. No test is about how long it takes, and a busy machine may need long for any.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: [
        // Needs XMLHttpRequest: it is tested in the real browser, where v8 in this process sees nothing of it.
        'src/client/upload/transport.ts',
        // Is tested as what it is, a process of its own, of which this one sees nothing either.
        'src/cli/**',
        // Its tests are skipped, which they say, where there is no server for them.
        ...(hasMongoDB ? [] : ['src/adapters/mongo/**']),
      ],
      reporter: ['text-summary', 'html', 'json-summary'],
      thresholds: { lines: 95, branches: 95, functions: 95, statements: 95 },
    },
    projects: [
      {
        extends: true,
        resolve: source,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          typecheck: {
            enabled: true,
            include: ['test/types/**/*.test-d.ts'],
            tsconfig: './tsconfig.json',
          },
        },
        {
          extends: true,
          resolve: source,
          test: {
            name: 'conformance',
            include: filesIn('test/conformance-runs'),
            ...timeLimit(120_000),
          },
        },
        {
          extends: true,
          resolve: source,
          test: {
            name: 'integration',
            include: filesIn('test/integration'),
            globalSetup: ['test/servers/global-setup.ts'],
            pool: 'forks',
            ...shared,
            ...timeLimit(60_000),
          },
        },
        {
          extends: true,
          resolve: source,
          test: {
            name: 'browser',
            include: filesIn('test/browser'),
            // A page waits for a browser, a server and a database, all of which start cold.
            expect: { poll: { timeout: 20_000 } },
            ...timeLimit(60_000),
          },
        },
        {
          extends: true,
          test: {
            name: 'package',
            include: filesIn('test/package'),
            globalSetup: isLong ? [] : ['test/package/build.ts'],
            ...timeLimit(180_000),
          },
        },
      ],
    },
  }
})
