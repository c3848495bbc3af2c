import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entries } from '../../build/entries.js'
import { findEnvironment } from './installed-environment.js'
import { installInto, linkPackages, packPackage, repository, runProgram } from './packed-package.js'

const environment = await findEnvironment('toolchains')
const isFound = typeof environment === 'string'
const skipped = isFound ? '' : ` (skipped: ${environment.reason})`

const workspace = mkdtempSync(join(tmpdir(), 'svc-db-toolchains-'))
const application = join(workspace, 'application')
const runners = join(application, 'runners')
const bundled = join(application, 'bundled')

beforeAll(async () => {
  await installInto(application, await packPackage(workspace))
  cpSync(join(repository, 'test', 'package', 'applications'), application, { recursive: true })
  linkPackages(application, ['vitest', 'jsdom', 'happy-dom', 'express'])
  if (isFound) linkPackages(application, ['jest-environment-node26'], environment)
})

afterAll(() => rmSync(workspace, { recursive: true, force: true }))

const ownTool = (...path: string[]) => join(repository, 'node_modules', ...path)

async function succeeds(folder: string, ...args: string[]): Promise<string> {
  const { exitCode, output } = await runProgram(folder, process.execPath, ...args)
  expect(exitCode, output).toBe(0)
  return output
}

describe.skipIf(!isFound)(`tools of the environment${skipped}`, () => {
  const tool = (...path: string[]) => join(environment as string, 'node_modules', ...path)

  it.concurrent.each(['jest26', 'jest29'])('%s runs the tests of a CommonJS application', async (jest) => {
    await succeeds(runners, tool(jest, 'bin', 'jest.js'), '--ci', '-c', `${jest}.json`)
  })

  it.concurrent('mocha runs the tests of a CommonJS application', async () => {
    await succeeds(runners, tool('mocha', 'bin', 'mocha.js'), 'application.test.js')
  })

  it.concurrent.each(['webpack4', 'webpack5'])('%s bundles the client', async (webpack) => {
    await succeeds(bundled, 'webpack.cjs', tool(webpack), join('out', `${webpack}.js`))
    await runsBundle(`${webpack}.js`)
  })

  it.concurrent('resolve, behind the rule import/no-unresolved, finds every entry', async () => {
    const names = Object.keys(entries).map((name) => (name === 'index' ? '@svc/db' : `@svc/db/${name}`))
    const program = `
      const { sync } = require(process.argv[1])
      for (const name of process.argv.slice(2)) sync(name, { basedir: __dirname })`
    await succeeds(application, '-e', program, tool('resolve'), ...names)
  })
})

it.concurrent('vitest runs the tests of an application', async () => {
  await runVitest('application.test.mjs')
})

it.concurrent('Vite bundles the client', async () => {
  await succeeds(bundled, 'vite.mjs', ownTool('vite', 'dist', 'node', 'index.js'))
  await runsBundle('vite.mjs')
})

describe('a page', () => {
  let server: ChildProcess
  let url: string

  beforeAll(async () => {
    server = spawn(process.execPath, ['serve.mjs'], { cwd: runners, stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(server.stdout!, 'data')) as [Buffer]
    url = line.toString().trim()
  })

  afterAll(() => server.kill())

  it.concurrent.each(['jsdom', 'happy-dom'])('in %s uploads and downloads with the client', async (dom) => {
    const configuration = join(runners, `${dom}.config.mjs`)
    const test = { environment: dom, environmentOptions: { jsdom: { url }, happyDOM: { url } } }
    writeFileSync(configuration, `export default ${JSON.stringify({ test })}`)
    await runVitest('page.test.mjs', `--config=${configuration}`)
  })
})

async function runVitest(file: string, ...options: string[]): Promise<void> {
  await succeeds(runners, ownTool('vitest', 'vitest.mjs'), 'run', '--root=.', ...options, file)
}

/** Runs the client as it was bundled. */
async function runsBundle(file: string): Promise<void> {
  const output = await succeeds(application, join('bundled', 'run-page.mjs'), join('bundled', 'out', file))
  expect(JSON.parse(output)).toEqual({ filenames: ['hello.txt'], code: 'OBJECT_NOT_FOUND' })
}
