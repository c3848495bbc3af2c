import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Has the system end the demo with these tests, even where they are killed. */
const HAS_SETPRIV = spawnSync('setpriv', ['--version'], { stdio: 'ignore' }).status === 0

export interface DemoOptions {
  readonly dataFolder: string
  /** Default: a free one. */
  readonly port?: number
  /** Default: none, so that its records are in PGlite. */
  readonly databaseUrl?: string
}

export interface DemoServer {
  readonly url: string
  /** Ends it, by default as Ctrl+C does; resolves to its exit code (`null`: killed) and what it has complained of. */
  stop(signal?: NodeJS.Signals): Promise<{ readonly code: number | null; readonly complaints: string }>
}

/** The demo as a process of its own. Rejects with its complaints where it ends by itself. */
export async function startDemo({ dataFolder, port, databaseUrl }: DemoOptions): Promise<DemoServer> {
  checkBuild()
  const command = [process.execPath, 'examples/demo/server.mjs']
  const [program = '', ...args] = HAS_SETPRIV ? ['setpriv', '--pdeathsig', 'KILL', ...command] : command
  // What chooses the places of its data must not come from the surroundings of the tests.
  const settings = { PORT: String(port ?? ''), DATA_DIR: dataFolder, DATABASE_URL: databaseUrl ?? '' }
  const demo = spawn(program, args, { cwd: ROOT, env: { ...process.env, ...settings }, stdio: 'pipe' })
  let complaints = ''
  demo.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => demo.on('exit', resolve))

  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    demo.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const address = /http:\/\/\S+/.exec(output)
      if (address) resolve(address[0])
    })
    void ended.then((code) => reject(new Error(`The demo ended with ${code}: ${complaints}`)))
  })
  return {
    url,
    async stop(signal = 'SIGINT') {
      demo.kill(signal)
      return { code: await ended, complaints }
    },
  }
}

/** The demo runs what was built, so that a test of an old build would tell nothing. */
function checkBuild(): void {
  const built = timeOf('dist/client.js')
  const newest = Math.max(
    ...readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).map((file) =>
      timeOf(join('src', file)),
    ),
  )
  if (built === 0) throw new Error('The demo needs a build: run `npm run build` first.')
  if (built < newest) throw new Error('dist/ is older than src/: run `npm run build` first.')
}

/** When a file was written, in milliseconds; 0 where there is none. */
function timeOf(file: string): number {
  const stats = statSync(join(ROOT, file), { throwIfNoEntry: false })
  return stats?.isFile() ? stats.mtimeMs : 0
}
