import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { entries } from './build/entries.js'
import { installedProgram } from './test/servers/installed-program.js'

// Tests import the public names and get the source, so that coverage counts.
// The `package` project has no aliases: it tests what is published.
const source = {
  alias: Object.entries(entries).map(([name, file]) => ({
    find: new RegExp(`^@svc/db${name === 'index' ? '' : `/${name}`}$`),
    replacement: fileURLToPath(new URL(file, import.meta.url)),
  })),
}

/** Of all servers, only this one can't be had everywhere: no distribution packages it. */
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
        'src/client/upload/put-with-xhr.ts',
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
      },
      {
        extends: true,
        resolve: source,
        test: {
          name: 'conformance',
          include: ['test/conformance-runs/**/*.test.ts'],
          testTimeout: 120_000,
        },
      },
      {
        extends: true,
        resolve: source,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/servers/global-setup.ts'],
          pool: 'forks',
        },
      },
      {
        extends: true,
        resolve: source,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          // What a page comes to show has passed a browser, a server and a database, which all begin cold.
          expect: { poll: { timeout: 20_000 } },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
})
