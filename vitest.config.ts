import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
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

/** In unit tests, uploads in parts begin at 2 MiB, which costs an eighth of the processor time. */
const smallSizes = {
  alias: [
    ...source.alias,
    {
      find: /^\.\.?\/(.*\/)?sizes\.js$/,
      replacement: fileURLToPath(new URL('test/unit/small-sizes.ts', import.meta.url)),
    },
  ],
}

/** Only ends what hangs, because a busy machine may need long for any test. In milliseconds. */
const TIME_LIMIT = 900_000

/** How long tests wait for a condition. Ends before the test does, so that the failure shows the condition. */
const POLL_TIME_LIMIT = TIME_LIMIT - 30_000

/** MongoDB is the only server without a distribution package, so it may be missing. */
const hasMongoDB = Boolean(process.env['TEST_MONGODB_URL']) || installedProgram('mongod') !== null

export default defineConfig(({ mode }) => {
  const isLong = mode === 'long'
  // Long runs have files of their own, which `npm test` leaves out.
  const filesIn = (folder: string) => [`${folder}/**/*${isLong ? '.long' : ''}.test.ts`]
  const exclude = [...configDefaults.exclude, ...(isLong ? [] : ['**/*.long.test.ts'])]
  // A worker runs many files in one module graph, because importing takes longer than most tests do.
  const shared = { isolate: false } as const

  return {
    test: {
      testTimeout: TIME_LIMIT,
      hookTimeout: TIME_LIMIT,
      expect: { poll: { timeout: POLL_TIME_LIMIT } },
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
          resolve: smallSizes,
          test: {
            name: 'unit',
            exclude,
            include: filesIn('test/unit'),
            pool: 'threads',
            // A second worker loads and compiles the library anew, which costs a fifth of the processor time of all unit tests.
            // Projects with other numbers of workers need another group.
            maxWorkers: 1,
            sequence: { groupOrder: 1 },
            ...shared,
          },
        },
        {
          extends: true,
          resolve: source,
          test: {
            name: 'conformance',
            exclude,
            include: filesIn('test/conformance-runs'),
          },
        },
        {
          extends: true,
          resolve: source,
          test: {
            name: 'integration',
            exclude,
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
            exclude,
            include: filesIn('test/browser'),
          },
        },
        {
          extends: true,
          test: {
            name: 'package',
            exclude,
            include: filesIn('test/package'),
            globalSetup: ['test/package/build.ts'],
          },
        },
      ],
    },
  }
})
