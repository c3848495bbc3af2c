import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createS3Client } from '@svc/db/client'
import { transform } from 'esbuild'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { describeWholeCycle, type CycleOptions } from '../integration/http-table/whole-cycle.js'
import { blocksOf } from '../integration/readme/documents.js'
import { environments, findEnvironment, findNode } from './environments.js'
import { createApplication, linkPackages, temporaryFolder } from './packed-package.js'
import { runProgramWith, startServerOnPort } from './programs.js'

const { path, skipped } = await findEnvironment('frameworks')
const node22 = await findNode(22)
const application = temporaryFolder()

const BUILD = { NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1', ASTRO_TELEMETRY_DISABLED: '1' }

interface Framework extends CycleOptions {
  readonly name: string
  /** Of the application. */
  readonly folder: string
  /** The Node.js that runs it; `null` if it is missing. Default: the one that runs the tests. */
  readonly node?: string | null
  /** A program of a package, and its arguments. */
  readonly build?: readonly string[]
  /** A program of a package, or a file of the build, and its arguments. */
  readonly serve: readonly string[]
  /** Variables of the build and of the server. */
  readonly settings?: Readonly<Record<string, string>>
  /** In front of the base path. */
  readonly prefix?: string
  /** Variables of the server at a URL. */
  readonly variables?: (url: string) => Readonly<Record<string, string>>
  /** A limit of bodies below 12 MiB: the variables that raise it, and what it does to a file of 12 MiB. */
  readonly limit?: {
    readonly raised: Readonly<Record<string, string>>
    readonly error: object
    readonly logged: RegExp
  }
}

const frameworks: readonly Framework[] = [
  {
    name: 'Next.js 16 with a proxy.ts',
    folder: 'next',
    build: ['next', 'build'],
    serve: ['next', 'start', '--hostname', '127.0.0.1'],
    hidesLength: true,
    limit: {
      raised: { BODY_SIZE_LIMIT: '16mb' },
      error: {
        code: 'VALIDATION_ERROR',
        message: expect.stringMatching(/exactly 12582912 bytes.*\(\d+ arrived\)/) as unknown,
      },
      logged: /PUT with status 400.*exactly 12582912 bytes.*\(\d+ arrived\)/,
    },
  },
  {
    name: 'Next.js 16 with basePath, trailingSlash and the server of docs/nextjs.md on PGlite',
    folder: 'next',
    build: ['next', 'build'],
    serve: ['next', 'start', '--hostname', '127.0.0.1'],
    settings: { BASE_PATH: '/site', BODY_SIZE_LIMIT: '16mb', DATA_FOLDER: join(application, 'pglite') },
    variables: (url) => ({ STORAGE_URL: `${url}/site/lazy/api/s3/_storage` }),
    prefix: '/site/lazy',
    hidesLength: true,
  },
  {
    name: 'SvelteKit 2 with adapter-node',
    folder: 'sveltekit',
    build: ['vite', 'build'],
    serve: ['./build/index.js'],
    variables: (url) => ({ ORIGIN: url }),
    limit: {
      raised: { BODY_SIZE_LIMIT: '16M' },
      error: { code: 'FILE_TOO_LARGE', status: 413 },
      logged: /Content-length of 12582912 exceeds limit of 524288 bytes/,
    },
  },
  { name: 'SvelteKit 2 in development', folder: 'sveltekit', serve: ['vite', 'dev'] },
  {
    name: 'React Router 7',
    folder: 'react-router',
    build: ['react-router', 'build'],
    serve: ['react-router-serve', './build/server/index.js'],
  },
  {
    name: "Nitro 2, Nuxt's server",
    folder: 'nitro',
    build: ['nitropack', 'build'],
    serve: ['./.output/server/index.mjs'],
  },
  {
    name: `Astro 7 with its Node.js adapter${node22.skipped}`,
    folder: 'astro',
    node: node22.path,
    build: ['astro', 'build'],
    serve: ['./dist/server/entry.mjs'],
  },
]

describe.skipIf(path === null)(`frameworks${skipped}`, () => {
  beforeAll(async () => {
    await createApplication(application, 'servers')
    linkPackages(application, Object.keys(environments.frameworks.dependencies), path!)
    linkPackages(application, ['@electric-sql/pglite'])
    writeFileSync(join(application, 'next', 'lazy-server.mjs'), await lazyServer())
  })

  for (const { name, node = process.execPath, ...framework } of frameworks)
    describe.skipIf(node === null)(name, () => describeFramework(framework, node ?? ''))
})

/** The server of docs/nextjs.md, where the tests mount it, for the callers of the tests. */
async function lazyServer(): Promise<string> {
  const [shown = ''] = blocksOf('docs/nextjs.md', 'ts')
  const mounted = shown
    .replace("'x-signed-in-as'", "'x-user'")
    .replace("bucket: 'uploads',", "bucket: 'uploads', basePath: '/lazy/api/s3',")
    .replace('memoryStorage()', 'memoryStorage({ baseURL: process.env.STORAGE_URL })')
  return (await transform(mounted, { loader: 'ts' })).code
}

function describeFramework(framework: Omit<Framework, 'name' | 'node'>, node: string): void {
  const { folder, build, serve, settings, prefix = '', variables, limit, ...options } = framework
  const cwd = join(application, folder)
  const program = ([file = '', ...args]: readonly string[]) =>
    [file.startsWith('.') ? file : join(path ?? '', 'node_modules', '.bin', file), ...args] as const
  const start = (more: Readonly<Record<string, string>> = {}) =>
    startServerOnPort(cwd, (url) => ({ ...settings, ...variables?.(url), ...more }), node, ...program(serve))

  let url: string
  beforeAll(async () => {
    if (build) {
      const built = await runProgramWith({ ...BUILD, ...settings }, cwd, node, ...program(build))
      expect(built.exitCode, built.output).toBe(0)
    }
    const server = await start(limit?.raised)
    url = server.url + prefix
    return server.stop
  })
  describeWholeCycle(() => url, options)

  if (limit)
    it('refuses 12 MiB by default, and client and server say why', async () => {
      const server = await start()
      onTestFinished(server.stop)
      const { api } = createS3Client({ baseURL: server.url, headers: { 'x-user': 'user:1' }, plugins: [] })
      const uploading = api.upload(new File([new Uint8Array(12 * 1024 ** 2)], 'film.mp4'))
      await expect(uploading).rejects.toMatchObject(limit.error)
      await expect.poll(server.output).toMatch(limit.logged)
    })
}
