import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** `setpriv` ends the example together with the tests, even if they are killed. */
const HAS_SETPRIV = spawnSync('setpriv', ['--version'], { stdio: 'ignore' }).status === 0

export interface ExampleProcess {
  readonly url: string
  /** Ends the process, by default like Ctrl+C. Returns its exit code (`null` if it was killed) and its stderr. */
  stop(signal?: NodeJS.Signals): Promise<{ readonly code: number | null; readonly complaints: string }>
}

/**
 * Starts an example in its own process, by default on a free port, and resolves once it has printed its URL. Rejects
 * with its stderr if it exits before that.
 */
export async function startExample(
  file: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<ExampleProcess> {
  // The demo bundles the sources itself.
  if (!file.startsWith('examples/demo/')) checkBuild()
  const command = [process.execPath, file]
  const [program = '', ...args] = HAS_SETPRIV ? ['setpriv', '--pdeathsig', 'KILL', ...command] : command
  // The environment of the tests must not choose the port.
  const env = { ...process.env, PORT: '', ...settings }
  const example = spawn(program, args, { cwd: ROOT, env, stdio: 'pipe' })
  let complaints = ''
  example.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => example.on('exit', resolve))

  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    example.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const address = /(?:runs|listens) at (\S+)/.exec(output)
      if (address?.[1]) resolve(address[1])
    })
    void ended.then((code) => reject(new Error(`${file} ended with ${code}: ${complaints}`)))
  })
  return {
    url,
    async stop(signal = 'SIGINT') {
      example.kill(signal)
      return { code: await ended, complaints }
    },
  }
}

/** Refuses an outdated build: examples run what was built, not the sources. */
function checkBuild(): void {
  const built = timeOf('dist/client.js')
  const newest = Math.max(
    ...readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).map((file) =>
      timeOf(join('src', file)),
    ),
  )
  if (built === 0) throw new Error('The examples need a build: run `npm run build` first.')
  if (built < newest) throw new Error('dist/ is older than src/: run `npm run build` first.')
}

/** Returns the modification time of a file, in milliseconds; 0 if it doesn't exist. */
function timeOf(file: string): number {
  const stats = statSync(join(ROOT, file), { throwIfNoEntry: false })
  return stats?.isFile() ? stats.mtimeMs : 0
}
