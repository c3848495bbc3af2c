import { parentPort } from 'node:worker_threads'
import { runCli } from '../../../src/cli/cli.js'
import { COMMANDS } from '../../../src/cli/commands/all-commands.js'

interface Run {
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

const printed = { stdout: '', stderr: '' }
for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (chunk: unknown, ...rest: unknown[]) => {
    printed[name] += String(chunk)
    const written = rest.at(-1) as (() => void) | undefined
    if (written) queueMicrotask(written)
    return true
  }
}

// Runs the command once for each message, as a process with these arguments and variables would.
parentPort?.on('message', ({ args, environment }: Run) => {
  for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name)
  Object.assign(process.env, environment)
  Object.assign(printed, { stdout: '', stderr: '' })
  void runCli(args, COMMANDS).then((exitCode) => {
    for (const event of ['SIGINT', 'SIGTERM', 'warning']) process.removeAllListeners(event)
    parentPort?.postMessage({ exitCode, ...printed })
  })
})
