import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '../servers/private-server.js'
import { until } from '../until.js'

export const repository = fileURLToPath(new URL('../..', import.meta.url))

/** `NODE_OPTIONS` and the others configure the workers of the test runner and would change how a program runs. */
const environment = { ...process.env, NODE_OPTIONS: '', NODE_V8_COVERAGE: '', NODE_ENV: '' }

export interface ProgramResult {
  readonly exitCode: number
  /** stdout, followed by stderr if the exit code is not 0. */
  readonly output: string
}

/** Runs a program until it exits. Rejects if it can't start or is killed. */
export async function runProgram(folder: string, command: string, ...args: string[]): Promise<ProgramResult> {
  return runProgramWith({}, folder, command, ...args)
}

/** Runs a program with additional environment variables. */
export async function runProgramWith(
  variables: Readonly<Record<string, string>>,
  folder: string,
  command: string,
  ...args: string[]
): Promise<ProgramResult> {
  const env = { ...environment, ...variables }
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd: folder, env, maxBuffer: 2 ** 26 })
    return { exitCode: 0, output: stdout }
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string }
    if (typeof code !== 'number') throw error
    return { exitCode: code, output: stdout + stderr }
  }
}

/** Starts a server whose first line of output is its URL. */
export async function startServer(folder: string, command: string, ...args: string[]) {
  const server = spawn(command, args, {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [url] = (await Promise.race([
    once(createInterface(server.stdout), 'line'),
    once(server, 'exit').then(([exitCode]) => {
      throw new Error(`${command} ${args.join(' ')} exited with ${exitCode} before it printed its URL.`)
    }),
  ])) as [string]
  return { url, stop: () => void server.kill() }
}

/** Starts a server that listens on `PORT` at `HOST`, and resolves once it responds. Its output is shown if it exits before. */
export async function startServerOnPort(
  folder: string,
  variables: (url: string) => Readonly<Record<string, string>>,
  command: string,
  ...args: string[]
) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env = { ...environment, HOST: '127.0.0.1', PORT: `${port}`, ...variables(url) }
  const server = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk) => (output += chunk))
  const responds = () =>
    fetch(url).then(
      () => true,
      () => false,
    )
  await until(async () => {
    if (server.exitCode !== null) throw new Error(`${command} ${args.join(' ')} exited:\n${output}`)
    return responds()
  })
  // Some wait for their connections if they are asked to end.
  return { url, output: () => output, stop: () => void server.kill('SIGKILL') }
}

/** Runs npm and returns its stdout. */
export async function npm(folder: string, ...args: string[]): Promise<string> {
  const { exitCode, output } = await runProgram(folder, 'npm', ...args, '--no-audit', '--no-fund')
  if (exitCode !== 0) throw new Error(`npm ${args.join(' ')} failed in ${folder}:\n${output}`)
  return output
}
