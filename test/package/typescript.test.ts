import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLongRun } from '../long-runs.js'
import { environments, findEnvironment } from './installed-environment.js'
import { installInto, linkPackages, packPackage, repository, runProgram } from './packed-package.js'

const environment = await findEnvironment('oldest-peers')
const isFound = typeof environment === 'string'
const skipped = isFound ? '' : ` (skipped: ${environment.reason})`
const { dependencies } = JSON.parse(
  readFileSync(join(environments, 'oldest-peers', 'package.json'), 'utf8'),
) as { dependencies: Record<string, string> }

const workspace = mkdtempSync(join(tmpdir(), 'svc-db-typescript-'))
const application = join(workspace, 'application')

beforeAll(async () => {
  await installInto(application, await packPackage(workspace))
  cpSync(join(repository, 'test', 'package', 'applications', 'typescript'), application, { recursive: true })
  if (isFound) linkPackages(application, Object.keys(dependencies), environment)
})

afterAll(() => rmSync(workspace, { recursive: true, force: true }))

const strict = { strict: true, exactOptionalPropertyTypes: true, esModuleInterop: true, target: 'ES2020' }

interface Case {
  readonly version: '5.0' | 'of today'
  readonly resolution: string
  readonly options: Readonly<Record<string, unknown>>
  /** Bundlers need no module that Node can run. */
  readonly runs: boolean
  /** Whether only long runs try it. Each case takes seconds, for the types of the AWS SDK. */
  readonly isLong?: true
}

const node10 = { module: 'commonjs', moduleResolution: 'node10' }
const cases: readonly Case[] = [
  { version: '5.0', resolution: 'node10', options: node10, runs: true },
  {
    version: '5.0',
    resolution: 'node16',
    options: { module: 'node16', moduleResolution: 'node16' },
    runs: true,
  },
  {
    version: '5.0',
    resolution: 'bundler without exports',
    options: { module: 'es2022', moduleResolution: 'bundler', resolvePackageJsonExports: false },
    runs: false,
    isLong: true,
  },
  // TypeScript 6 reports this resolution as deprecated.
  {
    version: 'of today',
    resolution: 'node10',
    options: { ...node10, ignoreDeprecations: '6.0' },
    runs: true,
    isLong: true,
  },
]

/** Compiles the file and returns the path of the result. */
async function compile(
  version: Case['version'],
  file: string,
  options: Readonly<Record<string, unknown>>,
): Promise<string> {
  const folder = version === '5.0' ? (environment as string) : repository
  const compiler = join(folder, 'node_modules', 'typescript', 'bin', 'tsc')
  const outDir = mkdtempSync(join(application, 'out-'))
  const compilerOptions = { ...strict, ...options, rootDir: application, outDir }
  const config = join(outDir, 'tsconfig.json')
  writeFileSync(config, JSON.stringify({ compilerOptions, files: [join('..', file)] }))
  const { exitCode, output } = await runProgram(application, process.execPath, compiler, '-p', config)
  expect(exitCode, output).toBe(0)
  return join(outDir, file.replace(/ts$/, 'js'))
}

describe.skipIf(!isFound)(`an application with the oldest packages${skipped}`, () => {
  it.concurrent.each(cases.filter(({ isLong }) => isLongRun || !isLong))(
    'TypeScript $version compiles it under $resolution',
    async (tried) => {
      const options = {
        ...tried.options,
        types: ['node'],
        lib: ['ES2020', 'DOM', 'DOM.Iterable'],
        // Declarations of the packages contradict each other.
        skipLibCheck: true,
      }
      const compiled = await compile(tried.version, 'application.ts', options)
      if (!tried.runs) return
      const ran = await runProgram(application, process.execPath, compiled)
      expect(ran).toEqual({ exitCode: 0, output: 'ran\n' })
    },
  )

  it.concurrent('TypeScript 5.0 finds no mistake in the declarations of the library', async () => {
    const options = { ...node10, types: [], lib: ['ES2022', 'DOM', 'DOM.Iterable'] }
    await compile('5.0', 'types-without-peers.ts', options)
  })
})
