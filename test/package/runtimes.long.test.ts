import { builtinModules } from 'node:module'
import { join, resolve } from 'node:path'
import { postgresAdapter } from '@svc/db/postgres'
import { build, type Plugin } from 'esbuild'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { describeJsonBodies } from '../integration/http-table/json-bodies.js'
import { describeLeftBodies } from '../integration/http-table/left-bodies.js'
import { describeMultipartLife } from '../integration/http-table/multipart-life.js'
import { describeObjectLife } from '../integration/http-table/object-life.js'
import { findServer } from '../servers/found-server.js'
import { createDatabase, type FreshDatabase } from '../servers/fresh-database.js'
import { POSTGRES } from '../servers/postgres.js'
import { findEnvironment } from './environments.js'
import { createApplication, linkPackages, temporaryFolder } from './packed-package.js'
import { startServer } from './programs.js'

const { path, skipped } = await findEnvironment('runtimes')
const postgres = await findServer(POSTGRES)
const noDatabase = 'reason' in postgres ? ` (${postgres.reason})` : ''
const application = temporaryFolder()

/** Bundles a worker into one file, which imports no module of Node.js unless plugins allow it. */
async function bundleWorker(name = 'worker', plugins: Plugin[] = []): Promise<string> {
  const outfile = join(application, `${name}.bundle.mjs`)
  const entryPoints = [join(application, `${name}.mjs`)]
  await build({
    ...{
      entryPoints,
      outfile,
      plugins,
      bundle: true,
      format: 'esm',
      platform: 'neutral',
      logLevel: 'silent',
    },
    ...{ mainFields: ['module', 'main'], conditions: ['workerd'], external: ['cloudflare:*', 'pg-native'] },
  })
  return outfile
}

/** Leaves modules of Node.js to the runtime, as wrangler does. A `require` becomes an import. */
const nodeModules: Plugin = {
  name: 'modules of Node.js',
  setup(building) {
    const filter = new RegExp(`^(node:)?(${builtinModules.join('|')})$`)
    building.onResolve({ filter }, ({ path, kind }) => {
      const name = path.startsWith('node:') ? path : `node:${path}`
      return kind === 'require-call' ? { path: name, namespace: 'required' } : { path: name, external: true }
    })
    building.onLoad({ filter: /./, namespace: 'required' }, ({ path }) => ({
      contents: `import all from '${path}'\nmodule.exports = all`,
    }))
  },
}

interface Runtime {
  readonly name: string
  readonly command: () => Promise<readonly string[]>
  /** Workers close a connection if they have not read more than 64 KiB of a body, while the client may still send it. */
  readonly drainsBodies: boolean
}

const runtimes: readonly Runtime[] = [
  { name: 'Bun', command: async () => ['bun', 'serve.mjs'], drainsBodies: true },
  {
    name: 'Deno',
    command: async () => ['deno', 'run', '--no-prompt', '--allow-net=127.0.0.1', 'serve.mjs'],
    drainsBodies: true,
  },
  {
    name: 'a worker',
    command: async () => [process.execPath, 'miniflare.mjs', await bundleWorker()],
    drainsBodies: false,
  },
]

describe.skipIf(path === null)(`in other runtimes${skipped}`, () => {
  beforeAll(async () => {
    await createApplication(application, 'runtimes')
    linkPackages(application, ['hono', 'pg'])
    linkPackages(application, ['miniflare'], path!)
  })

  describe.each(runtimes)('$name', ({ command, drainsBodies }) => {
    let origin: string
    beforeAll(async () => {
      if (!drainsBodies) vi.stubGlobal('fetch', fetchOnOwnConnection)
      const [program = '', ...args] = await command()
      const server = await startServer(application, resolve(path!, 'node_modules', '.bin', program), ...args)
      origin = server.url
      return server.stop
    })
    afterAll(() => vi.unstubAllGlobals())

    describe.each([
      ['the Fetch handler', '/api/s3'],
      ['Hono', '/hono'],
    ])('serves with %s', (_, basePath) => {
      const serve = async () => origin + basePath
      describeObjectLife(serve)
      describeJsonBodies(serve, { drainsBodies })
      describeMultipartLife(serve)
      describeLeftBodies(serve, { seesResponse: drainsBodies })
    })
  })

  describe.skipIf(noDatabase !== '')(`a worker with a database${noDatabase}`, () => {
    let origin: string
    let database: FreshDatabase
    beforeAll(async () => {
      database = await createDatabase((postgres as { url: string }).url)
      const pool = new pg.Pool({ connectionString: database.url })
      await postgresAdapter(pool, { events: true }).migrate()
      await pool.end()
      const worker = await bundleWorker('postgres-worker', [nodeModules])
      const command = [process.execPath, 'miniflare.mjs', worker, `DATABASE_URL=${database.url}`] as const
      const server = await startServer(application, ...command)
      origin = server.url
      return async () => {
        server.stop()
        await database.drop()
        if ('stop' in postgres) await postgres.stop()
      }
    })
    const UPLOADS = 20

    it.each([
      ['a pool and a server for each request', '/each'],
      ['one server, whose function returns the pool of each request', '/one'],
    ])('with %s, serves 20 requests at once and delivers their events', async (_, basePath) => {
      async function call<T>(method: string, to: string, body?: object): Promise<T> {
        const headers = { 'x-user': 'user:1', 'content-type': 'application/json' }
        const init = body ? { body: JSON.stringify(body) } : {}
        const response = await fetch(origin + basePath + to, { method, headers, ...init })
        expect(response.status, await response.clone().text()).toBeLessThan(300)
        return (await response.json()) as T
      }
      interface Begun {
        readonly object: { readonly key: string; readonly id: string }
        readonly upload: {
          readonly url: string
          readonly method: string
          readonly headers: Record<string, string>
        }
      }
      async function upload(): Promise<string> {
        const file = { filename: 'a.txt', contentType: 'text/plain', size: 5 }
        const { object, upload } = await call<Begun>('POST', '/upload', file)
        expect((await fetch(upload.url, { ...upload, body: 'hello' })).status).toBe(200)
        await call('POST', '/upload/confirm', object)
        return object.key
      }
      const keys = await Promise.all(Array.from({ length: UPLOADS }, upload))
      interface Outcome {
        readonly seen: readonly (readonly [string, string])[]
        readonly reported: readonly string[]
      }
      const outcome = async () => {
        const { seen, reported } = (await (await fetch(`${origin}/seen`)).json()) as Outcome
        return { reported, seen: seen.filter(([key]) => keys.includes(key)).sort() }
      }
      const expected = { reported: [], seen: keys.sort().map((key) => [key, 'no context']) }
      await expect.poll(outcome).toEqual(expected)
      const left = () => database.query('SELECT FROM svc_db.events')
      await expect.poll(async () => (await left()).rowCount).toBe(0)
    })
  })
})

const reusingFetch = fetch

/** Uses a new connection. On one that the server closes just now, a request fails with ECONNRESET. */
const fetchOnOwnConnection: typeof fetch = (input, init) =>
  reusingFetch(input, { ...init, headers: { ...(init?.headers as object), connection: 'close' } })
