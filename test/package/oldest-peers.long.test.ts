import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { findServer } from '../servers/found-server.js'
import { MONGODB } from '../servers/mongod.js'
import { POSTGRES } from '../servers/postgres.js'
import { RADOSGW } from '../servers/radosgw.js'
import { REDIS } from '../servers/redis.js'
import { environments, findEnvironment } from './environments.js'
import { compile, createApplication, linkPackages, packPackage, temporaryFolder } from './packed-package.js'
import { npm, repository, runProgram } from './programs.js'

const { path, skipped } = await findEnvironment('oldest-peers')
const workspace = temporaryFolder()
const peers = Object.keys(environments['oldest-peers'].dependencies)

describe.skipIf(path === null)(`the oldest packages${skipped}`, () => {
  const application = join(workspace, 'oldest-peers')
  beforeAll(async () => {
    await createApplication(application, 'oldest-peers')
    linkPackages(application, peers, path!)
    // Runs Hono on Node.js. No version of it belongs to a version of Hono.
    linkPackages(application, ['@hono/node-server'])
  })
  const run = (...args: string[]) => runProgram(application, process.execPath, '--no-deprecation', ...args)

  it.concurrent.each(['express', 'koa', 'fastify', 'hono'])('%s serves an upload', async (framework) => {
    expect(await run('upload.mjs', framework)).toEqual({ exitCode: 0, output: 'served\n' })
  })

  it.concurrent(
    'an older one of MongoDB is refused, and the message names the version that is needed',
    async () => {
      const { output } = await run('too-old.mjs')
      expect(output.trim().split('\n')).toEqual([
        'TypeError: mongoAdapter: db must be a Db of mongodb 6 or later, or a function that returns one: see docs/your-orm.md (got an instance of Db).',
      ])
    },
  )

  it.concurrent.each([
    ['xss-clean', { filename: 'a&lt;b>.txt', metadata: { 'camera.model': 'X', title: 'a' } }],
    ['express-mongo-sanitize', { filename: 'a<b>.txt', metadata: { title: 'a' } }],
  ])('%s rewrites uploads only if the library is mounted behind it', async (name, rewritten) => {
    const recorded = async (place: string) =>
      JSON.parse((await run('sanitizers.mjs', name, place)).output) as unknown
    expect(await recorded('behind')).toEqual(rewritten)
    const metadata = { 'camera.model': 'X', title: 'a' }
    expect(await recorded('in front')).toEqual({ filename: 'a<b>.txt', metadata })
  })

  it.concurrent('@aws-sdk/client-s3 signs an upload', async (context) => {
    const server = await findServer(RADOSGW)
    if ('reason' in server) return context.skip(server.reason)
    try {
      expect(await run('upload.mjs', 'express', server.url)).toEqual({ exitCode: 0, output: 'served\n' })
    } finally {
      await server.stop()
    }
  })

  it.concurrent.for([
    { driver: 'pg', kind: POSTGRES },
    { driver: 'mongodb', kind: MONGODB },
    { driver: 'ioredis', kind: REDIS },
    { driver: 'pglite', kind: null },
    { driver: 'better-sqlite3', kind: null },
  ])('$driver passes the conformance suite', async ({ driver, kind }, context) => {
    const server = kind === null ? { url: 'memory', stop: async () => {} } : await findServer(kind)
    if ('reason' in server) return context.skip(server.reason)
    try {
      const suite = await run('conformance.mjs', driver, server.url)
      expect(suite.exitCode, suite.output.slice(-5000)).toBe(0)
    } finally {
      await server.stop()
    }
  })
})

describe.skipIf(path === null)(`TypeScript with the oldest packages${skipped}`, () => {
  const application = join(workspace, 'typescript')
  beforeAll(async () => {
    await createApplication(application, 'typescript')
    linkPackages(application, peers, path!)
  })

  const lib = ['ES2020', 'DOM', 'DOM.Iterable']
  // Declarations of the packages contradict each other.
  const shared = { target: 'ES2020', types: ['node'], lib, skipLibCheck: true }
  const node10 = { module: 'commonjs', moduleResolution: 'node10' }
  const withoutExports = { module: 'es2022', moduleResolution: 'bundler', resolvePackageJsonExports: false }

  it.concurrent.each([
    { version: '5.0', resolution: 'node10', options: node10 },
    { version: '5.0', resolution: 'node16', options: { module: 'node16', moduleResolution: 'node16' } },
    { version: '5.0', resolution: 'bundler', options: { module: 'es2022', moduleResolution: 'bundler' } },
    { version: '5.0', resolution: 'bundler without exports', options: withoutExports },
    // TypeScript 6 reports this resolution as deprecated.
    { version: 'of today', resolution: 'node10', options: { ...node10, ignoreDeprecations: '6.0' } },
  ])('$version compiles an application under $resolution', async ({ version, options }) => {
    const typescriptOf = version === '5.0' ? path! : repository
    const files = ['application.ts']
    const compiled = await compile(application, files, { ...shared, ...options }, typescriptOf)
    expect(compiled.errors).toEqual([])
    // Bundlers need no module that Node can run.
    if (options.moduleResolution === 'bundler') return
    const ran = await runProgram(application, process.execPath, join(compiled.outDir, 'application.js'))
    expect(ran).toEqual({ exitCode: 0, output: 'ran\n' })
  })

  it.concurrent('5.0 finds no mistake in the declarations of the library', async () => {
    const options = { ...node10, target: 'ES2020', types: [], lib: ['ES2022', 'DOM', 'DOM.Iterable'] }
    expect((await compile(application, ['without-peers.ts'], options, path!)).errors).toEqual([])
  })
})

const pinned = await findEnvironment('pinned-peers')

it.skipIf(pinned.path === null)(
  `an application with other versions keeps them when it installs the library${pinned.skipped}`,
  async () => {
    const { dependencies } = environments['pinned-peers']
    const application = join(workspace, 'pinned-peers')
    cpSync(pinned.path!, application, { recursive: true, verbatimSymlinks: true })
    // npm may move them within these ranges.
    const ranges = Object.entries(dependencies).map(([name, version]) => [name, `^${version}`])
    writeFileSync(
      join(application, 'package.json'),
      JSON.stringify({ private: true, dependencies: Object.fromEntries(ranges) as unknown }),
    )
    await npm(application, 'install', '--offline', '--ignore-scripts', (await packPackage(workspace)).file)
    const installed = Object.keys(dependencies).map((name) => {
      const manifest = readFileSync(join(application, 'node_modules', name, 'package.json'), 'utf8')
      return [name, (JSON.parse(manifest) as { version: string }).version]
    })
    expect(Object.fromEntries(installed)).toEqual(dependencies)
  },
)
