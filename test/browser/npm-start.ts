import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { demoEnvironment, type DemoOptions } from './demo-server.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface NpmStart {
  readonly url: string
  /** Output of npm and of the demo before the line with the URL. */
  readonly linesBefore: readonly string[]
  stop(): Promise<void>
}

/** Starts the demo as its users do. */
export async function npmStart(options: DemoOptions): Promise<NpmStart> {
  const env = { ...process.env, npm_config_update_notifier: 'false', ...demoEnvironment(options) }
  // A process group, because npm doesn't forward signals to the demo. A terminal signals the whole group as well.
  const npm = spawn('npm', ['start'], { cwd: ROOT, env, stdio: 'pipe', detached: true })
  const ended = new Promise<void>((resolve) => npm.on('close', () => resolve()))
  const output = await new Promise<string>((resolve, reject) => {
    let text = ''
    const read = (chunk: Buffer) => {
      text += chunk.toString()
      if (/runs at \S+ /.test(text)) resolve(text)
    }
    npm.stdout.on('data', read)
    npm.stderr.on('data', read)
    void ended.then(() => reject(new Error(`npm start ended: ${text}`)))
  })
  const lines = output.split('\n')
  const urlLine = lines.findIndex((line) => line.includes('runs at'))
  return {
    url: /runs at (\S+)/.exec(output)![1]!,
    linesBefore: lines.slice(0, urlLine),
    async stop() {
      process.kill(-npm.pid!, 'SIGINT')
      await ended
    },
  }
}
