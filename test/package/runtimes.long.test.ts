import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, vi } from 'vitest'
import { describeJsonBodies } from '../integration/http-table/json-bodies.js'
import { describeLeftBodies } from '../integration/http-table/left-bodies.js'
import { describeMultipartLife } from '../integration/http-table/multipart-life.js'
import { describeObjectLife } from '../integration/http-table/object-life.js'
import { findEnvironment } from './environments.js'
import { createApplication, linkPackages, temporaryFolder } from './packed-package.js'
import { startServer } from './programs.js'

const { path, skipped } = await findEnvironment('runtimes')
const application = temporaryFolder()

/** Bundles the worker into one file, which imports no module of Node.js. */
async function bundleWorker(): Promise<string> {
  const outfile = join(application, 'worker.bundle.mjs')
  const entryPoints = [join(application, 'worker.mjs')]
  await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'neutral', logLevel: 'silent' })
  return outfile
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
    linkPackages(application, ['hono'])
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
})

const reusingFetch = fetch

/** Uses a new connection. On one that the server closes just now, a request fails with ECONNRESET. */
const fetchOnOwnConnection: typeof fetch = (input, init) =>
  reusingFetch(input, { ...init, headers: { ...(init?.headers as object), connection: 'close' } })
