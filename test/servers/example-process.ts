import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Has the system end the example with these tests, even where they are killed. */
const HAS_SETPRIV = spawnSync('setpriv', ['--version'], { stdio: 'ignore' }).status === 0

export interface ExampleProcess {
  readonly url: string
  /** Ends it, by default as Ctrl+C does; resolves to its exit code (`null`: killed) and what it has complained of. */
  stop(signal?: NodeJS.Signals): Promise<{ readonly code: number | null; readonly complaints: string }>
}

/**
 * An example as a process of its own, by default on a free port. It prints its URL when it listens; rejects with its
 * complaints where it ends by itself.
 */
export async function startExample(
  file: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<ExampleProcess> {
  checkBuild()
  const command = [process.execPath, file]
  const [program = '', ...args] = HAS_SETPRIV ? ['setpriv', '--pdeathsig', 'KILL', ...command] : command
  // What chooses a port must not come from the surroundings of the tests.
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

/** Examples run what was built, so that a test of an old build would tell nothing. */
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

/** When a file was written, in milliseconds; 0 where there is none. */
function timeOf(file: string): number {
  const stats = statSync(join(ROOT, file), { throwIfNoEntry: false })
  return stats?.isFile() ? stats.mtimeMs : 0
}
