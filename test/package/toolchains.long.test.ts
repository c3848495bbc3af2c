import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { blocksOf } from '../integration/readme/documents.js'
import { findEnvironment } from './environments.js'
import { compile, createApplication, linkPackages, specifiers, temporaryFolder } from './packed-package.js'
import { repository, runProgram, startServer } from './programs.js'

const { path, skipped } = await findEnvironment('toolchains')
const application = temporaryFolder()
const bundled = join(application, 'bundled')
/** The test runners' own limits, of seconds, would fail on a busy machine. */
const NO_TIME_LIMIT = 3_600_000
/** The versions of jest whose jsdom is tested. */
const JSDOM_OF = [29, 30]

beforeAll(async () => {
  await createApplication(application, 'runners')
  cpSync(fileURLToPath(new URL('applications/bundled', import.meta.url)), bundled, { recursive: true })
  cpSync(
    fileURLToPath(new URL('applications/typescript/exports.ts', import.meta.url)),
    join(bundled, 'exports.ts'),
  )
  linkPackages(application, ['vitest', 'jsdom', 'happy-dom', 'express'])
  if (path === null) return
  const environments = [
    'jest-environment-node26',
    ...JSDOM_OF.map((major) => `jest-environment-jsdom${major}`),
  ]
  linkPackages(application, environments, path)
  const [documented] = blocksOf('docs/testing-your-app.md', 'cjs')
  for (const major of JSDOM_OF) {
    const code = documented!.replace('jest-environment-jsdom', `jest-environment-jsdom${major}`)
    writeFileSync(join(application, `jsdom-of-jest${major}.cjs`), code)
  }
})

async function succeeds(folder: string, ...args: string[]): Promise<string> {
  const { exitCode, output } = await runProgram(folder, process.execPath, ...args)
  expect(exitCode, output).toBe(0)
  return output
}

describe.skipIf(path === null)(`tools of the environment${skipped}`, () => {
  const tool = (...names: string[]) => join(path!, 'node_modules', ...names)

  it.concurrent.each([
    ['jest26', './node-globals-environment.js'],
    ['jest29', 'node'],
    ['jest29', './jsdom-of-jest29.cjs'],
    ['jest30', './jsdom-of-jest30.cjs'],
  ])('%s runs the tests of a CommonJS application in %s', async (jest, testEnvironment) => {
    const config = JSON.stringify({ testEnvironment, testMatch: ['**/*.test.js'] })
    const options = ['--ci', `--config=${config}`, `--testTimeout=${NO_TIME_LIMIT}`]
    await succeeds(application, tool(jest, 'bin', 'jest.js'), ...options)
  })

  it.concurrent('mocha runs the tests of a CommonJS application', async () => {
    await succeeds(application, tool('mocha', 'bin', 'mocha.js'), '--no-timeout', 'application.test.js')
  })

  it.concurrent.each(['webpack4', 'webpack5'])('%s bundles the client', async (webpack) => {
    await succeeds(bundled, 'webpack.cjs', tool(webpack), join('out', `${webpack}.js`))
    await runsBundle(`${webpack}.js`)
  })

  it.concurrent('Vite 7 bundles a worker with the client, as a module', async () => {
    const output = await runProgram(
      bundled,
      process.execPath,
      'worker.mjs',
      tool('vite7', 'dist', 'node', 'index.js'),
    )
    expect(output).toEqual({ exitCode: 0, output: 'iife: refused\nes: built\n' })
  })

  it.concurrent.each([
    ['node16', { module: 'node16', moduleResolution: 'node16' }],
    ['bundler', { module: 'es2022', moduleResolution: 'bundler' }],
  ])('TypeScript 5.4 writes the declarations of an application under %s', async (_, resolution) => {
    const lib = ['ES2022', 'DOM', 'DOM.Iterable']
    const options = { ...resolution, declaration: true, target: 'ES2022', types: [], lib, skipLibCheck: true }
    const { errors } = await compile(bundled, ['exports.ts'], options, path!)
    expect(errors).toEqual([])
  })

  it.concurrent('resolve, behind the rule import/no-unresolved, finds every entry', async () => {
    const program = `
      const { sync } = require(process.argv[1])
      for (const name of process.argv.slice(2)) sync(name, { basedir: __dirname })`
    await succeeds(application, '-e', program, tool('resolve'), ...specifiers)
  })
})

it.concurrent('Vite bundles the client', async () => {
  await succeeds(bundled, 'vite.mjs', join(repository, 'node_modules', 'vite', 'dist', 'node', 'index.js'))
  await runsBundle('vite.mjs')
})

it.concurrent('Rollup bundles the client as one script', async () => {
  await succeeds(bundled, 'rollup.mjs', join(repository, 'node_modules', 'rollup', 'dist', 'es', 'rollup.js'))
  await runsBundle('rollup.mjs')
})

/** Runs the client as it was bundled. */
async function runsBundle(file: string): Promise<void> {
  const output = await succeeds(application, join('bundled', 'run-page.mjs'), join('bundled', 'out', file))
  expect(JSON.parse(output)).toEqual({ filenames: ['hello.txt'], code: 'OBJECT_NOT_FOUND' })
}

describe('a page', () => {
  let url: string
  beforeAll(async () => {
    const server = await startServer(application, process.execPath, 'serve.mjs')
    url = server.url
    return server.stop
  })

  it.concurrent.each(['jsdom', 'happy-dom'])(
    'in vitest with %s uploads and downloads with the client',
    async (environment) => {
      const environmentOptions = { jsdom: { url }, happyDOM: { url } }
      const test = { environment, environmentOptions, testTimeout: NO_TIME_LIMIT }
      const configuration = join(application, `${environment}.config.mjs`)
      writeFileSync(configuration, `export default ${JSON.stringify({ test })}`)
      const vitest = join(repository, 'node_modules', 'vitest', 'vitest.mjs')
      const options = ['--root=.', `--config=${configuration}`]
      await succeeds(application, vitest, 'run', ...options, 'page.test.mjs')
    },
  )
})
