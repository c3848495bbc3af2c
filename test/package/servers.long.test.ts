import { join } from 'node:path'
import { createS3Client } from '@svc/db/client'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { describeWholeCycle, type CycleOptions } from '../integration/http-table/whole-cycle.js'
import { environments, findEnvironment } from './environments.js'
import { createApplication, linkPackages, temporaryFolder } from './packed-package.js'
import { startServerOnPort } from './programs.js'

const { path, skipped } = await findEnvironment('servers')
const runtimes = await findEnvironment('runtimes')
const application = temporaryFolder()

interface Mounted extends CycleOptions {
  readonly name: string
  /** A program, and its arguments. Default program: Node.js. */
  readonly command: readonly string[]
  /** In front of the base path. */
  readonly prefix?: string
}

const servers: readonly Mounted[] = [
  { name: 'NestJS', command: ['nest.mjs', 'express', 'use'] },
  { name: 'NestJS on Fastify', command: ['nest.mjs', 'fastify', 'register'] },
  { name: 'NestJS on Fastify with middleware', command: ['nest.mjs', 'fastify', 'use'] },
  { name: 'a module of NestJS', command: ['nest.mjs', 'express', 'module'], parser: 'replaces the bytes' },
  {
    name: 'a module of NestJS with rawBody',
    command: ['nest.mjs', 'express', 'prefixed', 'raw'],
    prefix: '/v1',
    parser: 'keeps the bytes',
  },
  {
    name: "Google's functions framework",
    command: [functionsFramework(), '--target=files', '--source=functions.mjs'],
    parser: 'keeps the bytes',
  },
  { name: 'polka', command: ['polka.mjs'], prefix: '/v1' },
  { name: 'the development server of Vite', command: ['vite.mjs'] },
]

function functionsFramework(): string {
  return join(path ?? '', 'node_modules', '.bin', 'functions-framework')
}

describe.skipIf(path === null)(`servers of the environment${skipped}`, () => {
  beforeAll(async () => {
    await createApplication(application, 'servers')
    linkPackages(application, Object.keys(environments.servers.dependencies), path!)
    linkPackages(application, ['express', 'fastify', 'koa', 'vite'])
  })

  const start = (program: string, ...args: string[]) =>
    startServerOnPort(application, () => ({}), program, ...args)

  function describeServer({ command: [program = '', ...args], prefix = '', ...options }: Mounted): void {
    let url: string
    beforeAll(async () => {
      const server = await start(program, ...args)
      url = server.url + prefix
      return server.stop
    })
    describeWholeCycle(() => url, options)
  }

  describe.each(servers)('$name', (server) =>
    describeServer({ ...server, command: [process.execPath, ...server.command] }),
  )

  describe.skipIf(runtimes.path === null)(`in other runtimes${runtimes.skipped}`, () => {
    const run = {
      Bun: [join(runtimes.path ?? '', 'node_modules', '.bin', 'bun')],
      Deno: [join(runtimes.path ?? '', 'node_modules', '.bin', 'deno'), 'run', '--allow-all'],
    }
    const bindings = ['express', 'koa', 'fastify'].flatMap((framework) =>
      (['Bun', 'Deno'] as const).map((runtime) => ({
        name: `${framework} on ${runtime}`,
        command: [...run[runtime], 'bindings.mjs', framework],
      })),
    )
    describe.each([{ name: 'Elysia on Bun', command: [...run.Bun, 'elysia.mjs'] }, ...bindings])(
      '$name',
      describeServer,
    )
  })

  it.each(['raw', 'wide'])('a module of NestJS refuses JSON above 100 kB by default (%s)', async (parser) => {
    const server = await start(process.execPath, 'nest.mjs', 'express', 'module', parser)
    onTestFinished(server.stop)
    const { api } = createS3Client({ baseURL: server.url, headers: { 'x-user': 'user:1' }, plugins: [] })
    const upload = (size: number) =>
      api.upload(new File([`[1${' '.repeat(size - 3)}]`], 'a.json', { type: 'application/json' }))
    await upload(100_000)
    if (parser === 'wide') await upload(110_000)
    else await expect(upload(110_000)).rejects.toMatchObject({ code: 'UNEXPECTED_RESPONSE', status: 413 })
  })

  it('a module of NestJS on Fastify is directed to fastifyBinding', async () => {
    const server = await start(process.execPath, 'nest.mjs', 'fastify', 'module')
    onTestFinished(server.stop)
    expect((await fetch(`${server.url}/api/s3/db/objects`)).status).toBe(500)
    await expect.poll(server.output).toMatch(/TypeError: expressBinding .*fastifyBinding/)
  })
})
