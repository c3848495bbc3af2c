import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, vi } from 'vitest'
import { describeJsonBodies } from '../integration/http-table/json-bodies.js'
import { describeMultipartLife } from '../integration/http-table/multipart-life.js'
import { describeObjectLife } from '../integration/http-table/object-life.js'
import { describeSkipped } from '../servers/describe-with-server.js'
import { isRequired } from '../servers/found-server.js'
import { installEnvironment } from './installed-environment.js'
import { installInto, linkPackages, packPackage } from './packed-package.js'

type Environment = { readonly folder: string } | { readonly reason: string }

async function findEnvironment(): Promise<Environment> {
  try {
    return { folder: await installEnvironment('runtimes') }
  } catch (error) {
    if (isRequired('runtimes')) throw error
    return { reason: `no runtimes: npm can't install them. Tried: ${String(error).slice(0, 200)}` }
  }
}

const environment = await findEnvironment()

interface Runtime {
  readonly name: string
  /** Returns the program of the environment and its arguments. */
  readonly command: (application: string) => Promise<readonly [program: string, ...args: string[]]>
  /** Workers close a connection if they have not read more than 64 KiB of a body, while the client may still send it. */
  readonly drainsBodies: boolean
}

/** Bundles a worker into one file, which imports no module of Node.js. */
async function bundle(application: string, name: string): Promise<string> {
  const outfile = join(application, `${name}.bundle.mjs`)
  const entryPoints = [join(application, 'runtimes', `${name}.mjs`)]
  await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'neutral', logLevel: 'silent' })
  return outfile
}

const runtimes: readonly Runtime[] = [
  {
    name: 'Bun',
    command: async (folder) => ['bun', join(folder, 'runtimes', 'bun.mjs')],
    drainsBodies: true,
  },
  {
    name: 'Deno',
    drainsBodies: true,
    command: async (folder) => [
      'deno',
      'run',
      '--no-prompt',
      '--allow-net=127.0.0.1',
      join(folder, 'runtimes', 'deno.mjs'),
    ],
  },
  ...(['worker', 'hono-worker'] as const).map((name) => ({
    name: name === 'worker' ? 'a worker' : 'Hono in a worker',
    drainsBodies: false,
    command: async (folder: string) =>
      ['node', join(folder, 'runtimes', 'miniflare.mjs'), await bundle(folder, name)] as const,
  })),
]

if ('reason' in environment) {
  describeSkipped('the Fetch handler in other runtimes', environment.reason)
} else {
  const application = mkdtempSync(join(environment.folder, 'application-'))
  beforeAll(async () => {
    await installInto(application, await packPackage(application))
    linkPackages(application, ['hono'])
  })
  afterAll(() => rmSync(application, { recursive: true, force: true }))

  describe.each(runtimes)('the Fetch handler in $name', ({ command, drainsBodies }) => {
    let server: ChildProcess
    let baseURL: string
    beforeAll(async () => {
      if (!drainsBodies) vi.stubGlobal('fetch', fetchOnOwnConnection)
      const [program, ...args] = await command(application)
      const file =
        program === 'node' ? process.execPath : join(environment.folder, 'node_modules', '.bin', program)
      server = spawn(file, args, {
        cwd: application,
        env: { ...process.env, NODE_OPTIONS: '' },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const [url] = (await Promise.race([
        once(createInterface(server.stdout!), 'line'),
        once(server, 'exit').then(([exitCode]) => {
          throw new Error(`${program} ended with exit code ${exitCode} before it listened.`)
        }),
      ])) as [string]
      baseURL = `${url}/api/s3`
    })
    afterAll(() => {
      vi.unstubAllGlobals()
      server.kill()
    })

    const serve = async () => baseURL
    describeObjectLife(serve)
    describeJsonBodies(serve, { drainsBodies })
    describeMultipartLife(serve)
  })
}

const reusingFetch = fetch

/** Uses a new connection. On one that the server closes just now, a request fails with ECONNRESET. */
const fetchOnOwnConnection: typeof fetch = (input, init) =>
  reusingFetch(input, { ...init, headers: { ...(init?.headers as object), connection: 'close' } })
