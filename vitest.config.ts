import { availableParallelism } from 'node:os'
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

/** Only ends what hangs, because a busy machine may need long for any test. In milliseconds. */
const TIME_LIMIT = 900_000

/** MongoDB is the only server without a distribution package, so it may be missing. */
const hasMongoDB = Boolean(process.env['TEST_MONGODB_URL']) || installedProgram('mongod') !== null

export default defineConfig(({ mode }) => {
  const isLong = mode === 'long'
  const filesIn = (folder: string) => [`${folder}/**/*.test.ts`]
  // A worker runs many files in one module graph, because importing takes longer than most tests do.
  const shared = { isolate: false } as const

  return {
    test: {
      env: isLong ? { TEST_LONG: '1' } : {},
      testTimeout: TIME_LIMIT,
      hookTimeout: TIME_LIMIT,
      // Many files wait for servers, so one more worker than processors keeps these busy.
      maxWorkers: availableParallelism() + 1,
      coverage: {
        provider: 'v8',
        include: ['src/**/*.ts'],
        exclude: [
          // Is tested as a separate process, where v8 in this process sees nothing.
          'src/cli/**',
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
            include: filesIn('test/unit'),
            pool: 'threads',
            ...shared,
          },
        },
        {
          extends: true,
          resolve: source,
          test: {
            name: 'conformance',
            include: filesIn('test/conformance-runs'),
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
          },
        },
        {
          extends: true,
          test: {
            name: 'package',
            include: filesIn('test/package'),
            globalSetup: ['test/package/build.ts'],
          },
        },
      ],
    },
  }
})
