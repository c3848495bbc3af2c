import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLongRun } from '../long-runs.js'
import { findServer } from '../servers/found-server.js'
import { MONGODB } from '../servers/mongod.js'
import { POSTGRES } from '../servers/postgres.js'
import { RADOSGW } from '../servers/radosgw.js'
import { REDIS } from '../servers/redis.js'
import { environments, findEnvironment } from './installed-environment.js'
import { installInto, linkPackages, packPackage, repository, runProgram } from './packed-package.js'

const environment = await findEnvironment('oldest-peers')
const isFound = typeof environment === 'string'
const skipped = isFound ? '' : ` (skipped: ${environment.reason})`
const { dependencies } = JSON.parse(
  readFileSync(join(environments, 'oldest-peers', 'package.json'), 'utf8'),
) as { dependencies: Record<string, string> }
const { peerDependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  peerDependencies: Record<string, string>
}

const workspace = mkdtempSync(join(tmpdir(), 'svc-db-peers-'))
const application = join(workspace, 'application')

beforeAll(async () => {
  await installInto(application, await packPackage(workspace))
  cpSync(join(repository, 'test', 'package', 'applications', 'oldest-peers'), application, {
    recursive: true,
  })
  if (isFound) linkPackages(application, Object.keys(dependencies), environment)
  // Runs Hono on Node.js. No version of it belongs to a version of Hono.
  linkPackages(application, ['@hono/node-server'])
})

afterAll(() => rmSync(workspace, { recursive: true, force: true }))

const run = (...args: string[]) => runProgram(application, process.execPath, '--no-deprecation', ...args)

/** The drivers, with the server that each needs. */
const drivers = [
  { driver: 'pg', kind: POSTGRES },
  { driver: 'mongodb', kind: MONGODB },
  { driver: 'ioredis', kind: REDIS },
  { driver: 'pglite', kind: null },
] as const

describe.skipIf(!isFound)(`the oldest packages${skipped}`, () => {
  it('are those that the documentation names, and no peer is missing', () => {
    const requirements = readFileSync(join(repository, 'docs', 'requirements.md'), 'utf8')
    const documented = [...requirements.matchAll(/^\|[^|]*\| `([^`]+)` +\| ([\d.]+) /gm)].map(
      ([, name, version]) => [name, version],
    )
    const oldest = Object.keys(peerDependencies).map((name) => [
      name,
      dependencies[name]?.replace(/(?:\.0){1,2}$/, ''),
    ])
    expect(documented.sort()).toEqual(oldest.sort())
  })

  it.concurrent.each(['express', 'koa', 'fastify', 'hono'])('%s serves an upload', async (framework) => {
    expect(await run('upload.mjs', framework)).toEqual({ exitCode: 0, output: 'served\n' })
  })

  it.concurrent(
    'older ones of Express and MongoDB are refused, with the version that is needed',
    async () => {
      const { output } = await run('too-old.mjs')
      expect(output.trim().split('\n')).toEqual([
        'TypeError: db must be a Db of the driver mongodb, as returned by client.db() (got a Db of mongodb 5 or earlier). Install mongodb 6 or later.',
        'TypeError: expressBinding needs Express 4.16 or later, where req.baseUrl is a string (got undefined).',
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

  it.concurrent.for(drivers)(
    '$driver keeps a quota among concurrent writers',
    async ({ driver, kind }, context) => {
      const server = kind === null ? { url: 'memory', stop: async () => {} } : await findServer(kind)
      if ('reason' in server) return context.skip(server.reason)
      try {
        const { exitCode, output } = await run('store.mjs', driver, server.url)
        expect({ exitCode, output }).toEqual({
          exitCode: 0,
          output: expect.stringMatching(/kept\n$/) as string,
        })
        if (!isLongRun) return
        const suite = await run('conformance.mjs', driver, server.url, '1')
        expect(suite.exitCode, suite.output.slice(-5000)).toBe(0)
      } finally {
        await server.stop()
      }
    },
  )
})
