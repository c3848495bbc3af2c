import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse } from 'acorn'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { classicFolders } from '../../build/classic-entries.js'
import { entries } from '../../build/entries.js'
import { freePort } from '../servers/private-server.js'
import { environments } from './installed-environment.js'
import {
  builtEntries,
  compile,
  installInto,
  linkPackages,
  packPackage,
  repository,
  runProgram,
  type Tarball,
} from './packed-package.js'

type Loaded = Record<string, Record<'esm' | 'cjs', { names?: string[]; code?: string; message?: string }>>

interface Manifest {
  readonly exports: Record<string, unknown>
  readonly dependencies?: Record<string, string>
  readonly peerDependencies: Record<string, string>
  readonly peerDependenciesMeta: Record<string, { optional?: boolean }>
}

const specifierOf = (name: string) => (name === 'index' ? '@svc/db' : `@svc/db/${name}`)
const specifiers = Object.keys(entries).map(specifierOf)
/** The optional package that an entry needs at runtime. Other entries only use types of optional packages. */
const requiredPeers: Readonly<Record<string, string>> = {
  '@svc/db/conformance': 'fast-check',
  '@svc/db/s3': '@aws-sdk/client-s3',
}

const classicManifests = classicFolders.map((name) => `${name}/package.json`)

const resolutions = ['nodenext', 'bundler'] as const

const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as Manifest
const workspace = mkdtempSync(join(tmpdir(), 'svc-db-package-'))
const withPeers = join(workspace, 'with-peers')
const withoutPeers = join(workspace, 'without-peers')
let tarball: Tarball

beforeAll(async () => {
  tarball = await packPackage(workspace)
  await installInto(withPeers, tarball)
  await installInto(withoutPeers, tarball)
  const installed = readdirSync(join(repository, 'node_modules', '@types'))
  const peers = Object.keys(manifest.peerDependencies)
  const typesOfPeers = ['node', ...peers].filter((name) => installed.includes(name))
  linkPackages(withPeers, [...peers, ...typesOfPeers.map((name) => `@types/${name}`)])
})

afterAll(() => rmSync(workspace, { recursive: true, force: true }))

describe('the tarball', () => {
  it('contains only the built entries, the command and the documentation', () => {
    expect(tarball.contents).toEqual(
      expect.arrayContaining([
        ...builtEntries,
        ...classicManifests,
        'dist/cli.js',
        'package.json',
        'README.md',
        'CHANGELOG.md',
        'UPGRADING.md',
        'SECURITY.md',
        'LICENSE',
      ]),
    )
    const expected =
      /^(?:dist\/[\w.-]+\.(?:js|cjs|d\.ts|d\.cts)(?:\.map)?|docs\/(?:[\w-]+\.md|images\/[\w-]+\.png)|package\.json|README\.md|CHANGELOG\.md|CONTRIBUTING\.md|BENCHMARKS\.md|UPGRADING\.md|SECURITY\.md|LICENSE)$/
    const others = tarball.contents.filter((path) => !expected.test(path))
    expect(others.sort()).toEqual([...classicManifests].sort())
  })

  it('has a folder for every sub-path that names the same files as `exports`', () => {
    for (const name of classicFolders) {
      const fields = JSON.parse(readInstalled(`${name}/package.json`)) as Record<string, string>
      const files = Object.values(fields).map((path) => join(name, path))
      expect(files).toEqual([`dist/${name}.cjs`, `dist/${name}.js`, `dist/${name}.d.cts`])
    }
  })

  it('has no dead links in its documentation', () => {
    const pages = tarball.contents.filter((path) => path.endsWith('.md'))
    const links = pages.flatMap((page) =>
      [...readInstalled(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
        .map(([, target]) => target!)
        .filter((target) => !/^[a-z]+:/.test(target))
        .map((target) => ({ page, target, path: join(dirname(page), target) })),
    )
    expect(links.length).toBeGreaterThan(50)
    expect(links.filter(({ path }) => !tarball.contents.includes(path))).toEqual([])
  })

  it('names built-in modules without `node:` in CommonJS, and with it in ES modules', () => {
    const importing = (extension: string, pattern: RegExp) =>
      tarball.contents.filter((path) => path.endsWith(extension) && pattern.test(readInstalled(path)))
    expect(importing('.cjs', /require\(['"]node:/)).toEqual([])
    expect(importing('.cjs', /require\(['"]crypto['"]\)/)).not.toEqual([])
    expect(importing('.js', /from ['"](?:crypto|fs|path|stream)['"]/)).toEqual([])
  })

  it.each(['js', 'cjs'])('has the client as ES2019, in dist/client.%s and what it imports', (extension) => {
    const files = new Set([`dist/client.${extension}`])
    for (const file of files) {
      const code = readInstalled(file)
      for (const [, name] of code.matchAll(/['"]\.\/([\w-]+\.c?js)['"]/g)) files.add(`dist/${name}`)
      // Dynamic imports are the newer syntax that every bundler knows.
      const parsed = code.replaceAll(/\bimport\(/g, 'load(')
      const sourceType = extension === 'js' ? 'module' : 'script'
      expect(() => parse(parsed, { ecmaVersion: 2019, sourceType }), file).not.toThrow()
    }
    expect(files.size).toBeGreaterThan(1)
  })

  it('contains no absolute path of the build machine', () => {
    const traces = [repository.replace(/\/$/, ''), homedir(), 'file:///']
    const texts = tarball.contents.map((path) => [path, readInstalled(path)] as const)
    const found = texts.filter(([, text]) => traces.some((trace) => text.includes(trace)))
    expect(found.map(([path]) => path)).toEqual([])
  })

  it('has source maps that list only sources of this repository, by relative path', () => {
    const maps = tarball.contents.filter((path) => path.endsWith('.map'))
    expect(maps).not.toEqual([])
    const sources = maps.flatMap((path) => (JSON.parse(readInstalled(path)) as { sources: string[] }).sources)
    const allowed = /^\.\.\/(?:src|test\/(?:conformance|broken-stores))\/.+\.ts$/
    expect(sources.filter((path) => !allowed.test(path))).toEqual([])
  })

  it('exports every entry and package.json', () => {
    const expected = Object.keys(entries).map((name) => (name === 'index' ? '.' : `./${name}`))
    expect(Object.keys(manifest.exports).sort()).toEqual([...expected, './package.json'].sort())
    for (const name of Object.keys(entries)) {
      expect(manifest.exports[name === 'index' ? '.' : `./${name}`]).toEqual({
        import: { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
        require: { types: `./dist/${name}.d.cts`, default: `./dist/${name}.cjs` },
      })
    }
  })

  it('has only optional peer dependencies and installs no other package', () => {
    expect(manifest.dependencies ?? {}).toEqual({})
    const optional = Object.keys(manifest.peerDependenciesMeta).filter(
      (name) => manifest.peerDependenciesMeta[name]?.optional,
    )
    expect(Object.keys(manifest.peerDependencies).sort()).toEqual(optional.sort())
    const installed = readdirSync(join(withoutPeers, 'node_modules')).filter((name) => !name.startsWith('.'))
    expect(installed).toEqual(['@svc'])
  })
})

it('installs next to any version of the packages that it can use, and moves none of them', async () => {
  const application = join(workspace, 'pinned-peers')
  cpSync(join(environments, 'pinned-peers'), application, { recursive: true })
  const versions = () => {
    const lock = JSON.parse(readFileSync(join(application, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version?: string }>
    }
    const { dependencies } = JSON.parse(
      readFileSync(join(environments, 'pinned-peers', 'package.json'), 'utf8'),
    ) as {
      dependencies: Record<string, string>
    }
    return Object.keys(dependencies).map((name) => [name, lock.packages[`node_modules/${name}`]?.version])
  }
  const before = versions()
  const options = ['--package-lock-only', '--offline', '--no-audit', '--no-fund']
  const { exitCode, output } = await runProgram(application, 'npm', 'install', ...options, tarball.file)
  expect(exitCode, output).toBe(0)
  expect(versions()).toEqual(before)
})

describe('with the optional packages', () => {
  it('exports the same names from every entry as ESM and as CommonJS', async () => {
    const loaded = await load(withPeers, specifiers)
    for (const specifier of specifiers) {
      expect(loaded[specifier]!.esm.names, specifier).not.toEqual([])
      expect(loaded[specifier]!.cjs, specifier).toEqual(loaded[specifier]!.esm)
    }
  })

  it('exports the documented names', async () => {
    const loaded = await load(withPeers, specifiers)
    const documented: Record<string, string[]> = {
      '@svc/db': ['db', 'createS3Server', 'memoryStorage', 'cleanUp', 'StorageError', 'createAttemptId'],
      '@svc/db/memory': ['memoryAdapter'],
      '@svc/db/postgres': ['postgresAdapter', 'postgresSchema'],
      '@svc/db/mongo': ['mongoAdapter'],
      '@svc/db/disk': ['diskStorage'],
      '@svc/db/s3': ['s3Storage'],
      '@svc/db/redis': ['redisUsageCache'],
      '@svc/db/express': ['expressBinding', 'expressRequest', 'fetchRequest'],
      '@svc/db/koa': ['koaBinding', 'koaContext', 'fetchRequest'],
      '@svc/db/fastify': ['fastifyBinding', 'fastifyRequest', 'fetchRequest'],
      '@svc/db/hono': ['honoBinding', 'honoContext', 'fetchRequest'],
      '@svc/db/client': ['createS3Client', 'dbClient', 'S3ClientError'],
      '@svc/db/conformance': ['storeConformance'],
    }
    documented['@svc/db']!.push(
      'openApiDocument',
      'createStore',
      'createObjectAccessGuard',
      'createQuotaGuard',
      'chainHooks',
    )
    for (const [specifier, names] of Object.entries(documented)) {
      expect(loaded[specifier]!.esm.names, specifier).toEqual(expect.arrayContaining(names))
    }
  })

  it.each(resolutions)('type-checks under %s', async (moduleResolution) => {
    const compiled = await compile(withPeers, 'types.ts', { moduleResolution, types: ['node'] })
    expect(compiled).toEqual({ exitCode: 0, output: '' })
    // The declarations of PGlite import types from a package that it doesn't install.
    const withPglite = { moduleResolution, types: [], skipLibCheck: true }
    expect(await compile(withPeers, 'types-with-pglite.ts', withPglite)).toEqual({ exitCode: 0, output: '' })
  })
})

describe('with Koa', () => {
  it.each(resolutions)('type-checks under %s', async (moduleResolution) => {
    // The types of Koa 3 import names that content-disposition 2 doesn't export.
    const options = { moduleResolution, types: ['node'], skipLibCheck: true }
    expect(await compile(withPeers, 'types-koa.ts', options)).toEqual({ exitCode: 0, output: '' })
  })
})

describe('without the optional packages', () => {
  it('loads every entry that needs none, and names the missing package for the others', async () => {
    const loaded = await load(withoutPeers, specifiers)
    for (const specifier of specifiers) {
      const peer = requiredPeers[specifier]
      for (const { names, code, message } of Object.values(loaded[specifier]!)) {
        if (peer === undefined) expect(names, `${specifier}: ${message}`).not.toBeUndefined()
        else {
          expect(code, specifier).toMatch(/^(?:ERR_)?MODULE_NOT_FOUND$/)
          expect(message, specifier).toContain(peer)
        }
      }
    }
  })

  it.each(resolutions)('type-checks under %s with only the standard library', async (moduleResolution) => {
    const compiled = await compile(withoutPeers, 'types-without-peers.ts', { moduleResolution, types: [] })
    expect(compiled).toEqual({ exitCode: 0, output: '' })
  })
})

describe('the command', () => {
  const command = join('node_modules', '.bin', 'svc-db')

  it('is installed by the tarball and bundles its argument parser with its license', async () => {
    const { version } = JSON.parse(readInstalled('package.json')) as { version: string }
    expect(await runProgram(withoutPeers, command, '--version')).toEqual({
      exitCode: 0,
      output: `${version}\n`,
    })
    const program = readInstalled('dist/cli.js')
    expect(program).toMatch(/^#!\/usr\/bin\/env node\n/)
    expect(program).toContain('TJ Holowaychuk')
  })

  it('prints the schema without any other package', async () => {
    const { exitCode, output } = await runProgram(withoutPeers, command, 'schema')
    expect(exitCode, output).toBe(0)
    expect(output).toContain('CREATE TABLE')
  })

  it('names the missing driver of a database, and uses the driver if it is installed', async () => {
    const port = await freePort()
    const verify = ['verify', '--url', `postgres://app:secret@127.0.0.1:${port}/files`]
    const without = await runProgram(withoutPeers, command, ...verify)
    expect(without).toMatchObject({
      exitCode: 2,
      output: expect.stringContaining('npm install pg') as string,
    })
    const withDriver = await runProgram(withPeers, command, ...verify)
    expect(withDriver).toMatchObject({
      exitCode: 3,
      output: expect.stringContaining('ECONNREFUSED') as string,
    })
    expect(without.output + withDriver.output).not.toContain('secret')
  })
})

it('exports no internal modules', async () => {
  const internal = [
    '@svc/db/dist/index.js',
    '@svc/db/src/index.ts',
    '@svc/db/index',
    '@svc/db/core',
    '@svc/db/server',
  ]
  const loaded = await load(withPeers, internal)
  for (const specifier of internal) {
    expect(loaded[specifier]!.esm.code, specifier).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED')
    expect(loaded[specifier]!.cjs.code, specifier).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED')
  }
})

function readInstalled(path: string): string {
  return readFileSync(join(withoutPeers, 'node_modules', '@svc', 'db', path), 'utf8')
}

async function runNode(folder: string, ...args: string[]) {
  return runProgram(folder, process.execPath, ...args)
}

async function load(folder: string, names: readonly string[]): Promise<Loaded> {
  const { output, exitCode } = await runNode(folder, 'load-entries.mjs', ...names)
  expect({ exitCode, output: exitCode === 0 ? '' : output }).toEqual({ exitCode: 0, output: '' })
  return JSON.parse(output) as Loaded
}
