import { readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse } from 'acorn'
import { beforeAll, describe, expect, it } from 'vitest'
import { classicFolders } from '../../build/classic-entries.js'
import { environments } from './environments.js'
import { loadEntries, specifiers, temporaryFolder } from './packed-package.js'
import { repository, runProgram } from './programs.js'
import { createApplications, declaredValues, describeTypes, TYPESCRIPT_7 } from './types-of-entries.js'

interface Manifest {
  readonly version: string
  readonly exports: Record<string, unknown>
  readonly dependencies?: Record<string, string>
  readonly peerDependencies: Record<string, string>
  readonly peerDependenciesMeta: Record<string, { optional?: boolean }>
}

const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as Manifest
const peers = Object.keys(manifest.peerDependencies)
const workspace = temporaryFolder()
const withPeers = join(workspace, 'with-peers')
const withoutPeers = join(workspace, 'without-peers')
let contents: readonly string[]

beforeAll(async () => {
  contents = (await createApplications(withPeers, withoutPeers, peers)).contents
})

const run = (folder: string, ...args: string[]) => runProgram(folder, process.execPath, ...args)
const installed = (path: string) =>
  readFileSync(join(withoutPeers, 'node_modules', '@svc', 'db', path), 'utf8')

describe('the tarball', () => {
  it('contains only the built entries, the command and the documentation', () => {
    const classicManifests = classicFolders.map((name) => `${name}/package.json`)
    const pages = [
      'CHANGELOG',
      'CODE_OF_CONDUCT',
      'CONTRIBUTING',
      'BENCHMARKS',
      'README',
      'SECURITY',
      'UPGRADING',
    ]
    const others = pages.map((name) => `${name}.md`)
    const files = [
      'dist/cli.js',
      'package.json',
      'LICENSE',
      'docs/schema.sql',
      ...others,
      ...classicManifests,
    ]
    expect(contents).toEqual(expect.arrayContaining(files))
    const kinds =
      /^(?:dist\/[\w.-]+\.(?:js|cjs|d\.ts|d\.cts)(?:\.map)?|docs\/(?:[\w-]+\.md|images\/[\w-]+\.png))$/
    expect(contents.filter((path) => !files.includes(path) && !kinds.test(path))).toEqual([])
  })

  it('has a folder for every sub-path that names the same files as `exports`', () => {
    for (const name of classicFolders) {
      const fields = JSON.parse(installed(`${name}/package.json`)) as Record<string, string>
      const files = Object.values(fields).map((path) => join(name, path))
      expect(files).toEqual([`dist/${name}.cjs`, `dist/${name}.js`, `dist/${name}.d.cts`])
    }
  })

  it('has no dead links in its documentation', () => {
    const links = contents
      .filter((path) => path.endsWith('.md'))
      .flatMap((page) =>
        [...installed(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
          .map(([, target]) => target!)
          .filter((target) => !/^[a-z]+:/.test(target))
          .map((target) => ({ page, target, path: join(dirname(page), target) })),
      )
    expect(links.length).toBeGreaterThan(50)
    expect(links.filter(({ path }) => !contents.includes(path))).toEqual([])
  })

  it('names built-in modules without `node:` in CommonJS, and with it in ES modules', () => {
    const importing = (extension: string, pattern: RegExp) =>
      contents.filter((path) => path.endsWith(extension) && pattern.test(installed(path)))
    expect(importing('.cjs', /require\(['"]node:/)).toEqual([])
    expect(importing('.cjs', /require\(['"]crypto['"]\)/)).not.toEqual([])
    expect(importing('.js', /from ['"](?:crypto|fs|path|stream)['"]/)).toEqual([])
  })

  it.each(['js', 'cjs'])('has the client as ES2019, in dist/client.%s and what it imports', (extension) => {
    const files = new Set([`dist/client.${extension}`])
    for (const file of files) {
      const code = installed(file)
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
    const isTraced = (path: string) => traces.some((trace) => installed(path).includes(trace))
    expect(contents.filter(isTraced)).toEqual([])
  })

  it('has source maps that list only sources of this repository, by relative path', () => {
    const maps = contents.filter((path) => path.endsWith('.map'))
    expect(maps).not.toEqual([])
    const sources = maps.flatMap((path) => (JSON.parse(installed(path)) as { sources: string[] }).sources)
    const allowed = /^\.\.\/(?:src|test\/(?:conformance|broken-stores))\/.+\.ts$/
    expect(sources.filter((path) => !allowed.test(path))).toEqual([])
  })

  it('has only optional peer dependencies and installs no other package', () => {
    expect(manifest.dependencies ?? {}).toEqual({})
    expect(peers.filter((name) => !manifest.peerDependenciesMeta[name]?.optional)).toEqual([])
    const packages = readdirSync(join(withoutPeers, 'node_modules')).filter((name) => !name.startsWith('.'))
    expect(packages).toEqual(['@svc'])
  })
})

describe('the entries', () => {
  /** The optional package that an entry needs at runtime. Other entries only use types of optional packages. */
  const requiredPeers: Readonly<Record<string, string>> = {
    '@svc/db/conformance': 'fast-check',
    '@svc/db/s3': '@aws-sdk/client-s3',
  }

  it('export the same names as ESM and as CommonJS, with the optional packages', async () => {
    const loaded = await loadEntries((...args) => run(withPeers, ...args))
    for (const specifier of specifiers) {
      expect(loaded[specifier]!.esm.names, specifier).toBeDefined()
      expect(loaded[specifier]!.cjs, specifier).toEqual(loaded[specifier]!.esm)
    }
  })

  it('declare the values that they export, and no others', async () => {
    const loaded = await loadEntries((...args) => run(withPeers, ...args))
    const declared = declaredValues(
      specifiers.map((specifier) => {
        const entry = specifier.replace(/^@svc\/db\/?/, '') || 'index'
        return join(withPeers, 'node_modules', '@svc', 'db', 'dist', `${entry}.d.ts`)
      }),
    )
    for (const [index, specifier] of specifiers.entries()) {
      expect(declared[index]!.toSorted(), specifier).toEqual(loaded[specifier]!.esm.names?.toSorted())
    }
  })

  it('load without the optional packages, or name the missing one', async () => {
    const loaded = await loadEntries((...args) => run(withoutPeers, ...args))
    for (const specifier of specifiers) {
      const peer = requiredPeers[specifier]
      for (const { names, code, message } of Object.values(loaded[specifier]!)) {
        if (peer === undefined) expect(names, `${specifier}: ${message}`).toBeDefined()
        else {
          expect(code, specifier).toMatch(/^(?:ERR_)?MODULE_NOT_FOUND$/)
          expect(message, specifier).toContain(peer)
        }
      }
    }
  })

  it('include no internal modules', async () => {
    const exported = Object.keys(manifest.exports).map((name) => name.replace('.', '@svc/db'))
    expect(exported.sort()).toEqual([...specifiers, '@svc/db/package.json'].sort())
    const internal = ['dist/index.js', 'src/index.ts', 'index', 'core', 'server'].map(
      (path) => `@svc/db/${path}`,
    )
    const loaded = await loadEntries((...args) => run(withoutPeers, ...args), internal)
    for (const { esm, cjs } of Object.values(loaded)) {
      expect([esm.code, cjs.code]).toEqual(['ERR_PACKAGE_PATH_NOT_EXPORTED', 'ERR_PACKAGE_PATH_NOT_EXPORTED'])
    }
  })

  it('recognize a StorageError of each other across ESM and CommonJS, and log its name', async () => {
    expect(await run(withoutPeers, 'storage-error.mjs')).toEqual({ exitCode: 0, output: 'one class\n' })
  })
})

describeTypes(withPeers, withoutPeers, TYPESCRIPT_7)

describe('the command', () => {
  const command = join('node_modules', '.bin', 'svc-db')

  it('needs no other package, and has the license of its argument parser', async () => {
    const printed = await runProgram(withoutPeers, command, '--version')
    expect(printed).toEqual({ exitCode: 0, output: `${manifest.version}\n` })
    expect((await runProgram(withoutPeers, command, 'schema')).output).toContain('CREATE TABLE')
    expect(installed('dist/cli.js')).toContain('TJ Holowaychuk')
  })

  it('names the missing driver of a database, and uses the driver if it is installed', async () => {
    // No server listens on port 1.
    const verify = ['verify', '--url', 'postgres://app:secret@127.0.0.1:1/files']
    const without = await runProgram(withoutPeers, command, ...verify)
    const withDriver = await runProgram(withPeers, command, ...verify)
    expect([without, withDriver]).toMatchObject([
      { exitCode: 2, output: expect.stringContaining('npm install pg') as string },
      { exitCode: 3, output: expect.stringContaining('ECONNREFUSED') as string },
    ])
    expect(without.output + withDriver.output).not.toContain('secret')
  })
})

it('works with the oldest packages that the documentation names, in the tests of each peer', () => {
  const requirements = readFileSync(join(repository, 'docs', 'requirements.md'), 'utf8')
  const rows = [...requirements.matchAll(/^\|[^|]*\| `([^`]+)` +\| ([\d.]+) /gm)]
  const documented: unknown = Object.fromEntries(rows.map(([, name, version]) => [name, version]))
  const { dependencies } = environments['oldest-peers']
  const tested = peers.map((name) => [name, dependencies[name]?.replace(/(?:\.0){1,2}$/, '')])
  expect(documented).toEqual(Object.fromEntries(tested))
})
