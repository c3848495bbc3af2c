import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll } from 'vitest'
import { commandBuild } from '../../../build/command.js'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

export interface Ran {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export type RunningCommand = ChildProcessByStdio<Writable, Readable, Readable>

/** The command, built from the sources as it is published. */
export interface BuiltCommand {
  readonly file: string
  start(args: readonly string[], environment?: Readonly<Record<string, string>>): RunningCommand
  /** Runs the command to its end, with an empty stdin. */
  run(args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Ran>
}

/** Builds the command before the tests of a file or a block, and removes it after them. */
export function buildCommand(): BuiltCommand {
  // Inside node_modules, where it finds the drivers.
  const folder = join(repository, 'node_modules', '.cache', `svc-db-command-${randomUUID()}`)
  const file = join(folder, 'cli.mjs')
  beforeAll(async () => {
    await build({ ...commandBuild, entryPoints: [join(repository, 'src/cli/main.ts')], outfile: file })
    // The command loads what `@svc/db/s3` exports from a file next to it.
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    await build({
      ...{ bundle: true, format: 'esm', platform: 'node', external: commandBuild.external },
      entryPoints: [join(repository, 'src/storage/s3/s3-storage.ts')],
      outfile: join(folder, 's3.js'),
    })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const start: BuiltCommand['start'] = (args, environment = {}) =>
    spawn(process.execPath, [file, ...args], {
      // Without the variables of the test process, which may name a database or change how Node runs.
      env: { PATH: process.env['PATH'] ?? '', ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  return {
    file,
    start,
    run(args, environment) {
      const child = start(args, environment)
      child.stdin.end()
      return ended(child)
    },
  }
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
