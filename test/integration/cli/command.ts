import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import * as esbuild from 'esbuild'
import { afterAll, beforeAll, inject } from 'vitest'
import { commandBuild } from '../../../build/command.js'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

export interface Ran {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export type RunningCommand = ChildProcessByStdio<Writable, Readable, Readable>

type Environment = Readonly<Record<string, string>>

/** The command, built from the sources as it is published. */
export interface BuiltCommand {
  readonly file: string
  start(args: readonly string[], environment?: Environment): RunningCommand
  /**
   * Runs the command to its end, with an empty stdin. All runs of a file are in one thread, one after the other: a process takes
   * ten times as long. What depends on the process needs `start`.
   */
  run(args: readonly string[], environment?: Environment): Promise<Ran>
}

/** Builds the command before the tests of a file or a block. Global setup removes it. */
export function buildCommand(): BuiltCommand {
  // Every worker has a build, for all of its files.
  const folder = join(inject('commandFolder'), String(process.pid))
  const file = join(folder, 'cli.mjs')
  beforeAll(() => (built ??= build(folder, file)))

  let thread: Worker | undefined
  let last: Promise<unknown> = Promise.resolve()
  afterAll(() => thread?.terminate())

  // Without the variables of the test process, which may name a database or change how Node runs.
  const only = (environment: Environment) => ({ PATH: process.env['PATH'] ?? '', ...environment })
  async function runInThread(args: readonly string[], environment: Environment): Promise<Ran> {
    thread ??= new Worker(join(folder, 'command-thread.js'), { env: only({}), execArgv: [] })
    thread.postMessage({ args, environment: only(environment) })
    const [ran] = (await once(thread, 'message')) as [Ran]
    return ran
  }
  return {
    file,
    start: (args, environment = {}) =>
      spawn(process.execPath, [file, ...args], { env: only(environment), stdio: ['pipe', 'pipe', 'pipe'] }),
    run(args, environment = {}) {
      const ran = last.then(() => runInThread(args, environment))
      last = ran.catch(() => undefined)
      return ran
    },
  }
}

let built: Promise<void> | undefined

async function build(folder: string, file: string): Promise<void> {
  const source = (path: string) => join(repository, path)
  await esbuild.build({ ...commandBuild, entryPoints: [source('src/cli/main.ts')], outfile: file })
  const library = { bundle: true, format: 'esm', platform: 'node', external: commandBuild.external } as const
  await esbuild.build({
    ...{ ...library, define: commandBuild.define, banner: { js: REQUIRE }, outdir: folder },
    entryPoints: {
      'command-thread': source('test/integration/cli/command-thread.ts'),
      // The command loads what `@svc/db/s3` exports from a file next to it.
      s3: source('src/storage/s3/s3-storage.ts'),
    },
  })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  await bundleSDK(join(folder, 'node_modules', '@aws-sdk'))
}

// For bundled CommonJS modules, which ask for Node's modules by `require`.
const REQUIRE = [
  "import { createRequire as createRequireOfNode } from 'node:module'",
  'const require = createRequireOfNode(import.meta.url)',
].join('\n')

/** Puts the AWS SDK next to the command, in a few files: it has hundreds, and opening these takes longer than most commands do. */
async function bundleSDK(folder: string): Promise<void> {
  const names = ['client-s3', 's3-request-presigner']
  await esbuild.build({
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20' },
    banner: { js: REQUIRE },
    entryPoints: Object.fromEntries(
      names.map((name) => [
        `${name}/index`,
        join(repository, 'node_modules/@aws-sdk', name, 'dist-es/index.js'),
      ]),
    ),
    outdir: folder,
  })
  for (const name of names)
    writeFileSync(join(folder, name, 'package.json'), '{ "type": "module", "exports": "./index.js" }')
}

/** Resolves to the exit code and output once the process ends. */
export async function ended(child: RunningCommand): Promise<Ran> {
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { exitCode: await exit, stdout, stderr }
}

/** Closes the reading end of stdout at once. Resolves to the exit code and the rest of the output once the process ends. */
export async function endedUnread(child: RunningCommand): Promise<Omit<Ran, 'stdout'>> {
  child.stdout.destroy()
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve))
  const stderr = await text(child.stderr)
  return { exitCode: await exit, stderr }
}

/** Parses output with `--json`. */
export function jsonLines(output: string): unknown[] {
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
}
