import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { onTestFinished } from 'vitest'
import type { Telling, WorkerTask } from './storage-worker.js'

/** The program of `storage-worker.ts`, for processes of their own that a test may kill. */
export interface StorageProgram {
  start(task: WorkerTask): StorageProcess
  remove(): void
}

export async function buildStorageProgram(): Promise<StorageProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-storage-worker-'))
  const file = join(folder, 'worker.cjs')
  await build({
    entryPoints: [fileURLToPath(new URL('storage-worker.ts', import.meta.url))],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
  })
  return {
    start: (task) => new StorageProcess(fork(file), task),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A process with a storage; ends with its test at the latest. */
export class StorageProcess {
  readonly #child: ChildProcess
  readonly #reported: Telling[] = []
  #failure: Error | null = null
  #wake = () => {}

  constructor(child: ChildProcess, task: WorkerTask) {
    this.#child = child
    child.on('message', (telling: Telling) => {
      this.#reported.push(telling)
      this.#wake()
    })
    child.on('exit', (code, signal) => {
      this.#failure = new Error(`The process has ended (${code ?? signal}).`)
      this.#wake()
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    child.send(task)
  }

  /** All that it has reported, once that is so many things. */
  async reported(count: number): Promise<readonly Telling[]> {
    while (this.#reported.length < count) {
      if (this.#failure) throw this.#failure
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return [...this.#reported]
  }

  goOn(): void {
    this.#child.send('go on')
  }

  /** Ends it wherever it is, without a chance to tidy up. Resolves when it is gone. */
  async kill(): Promise<readonly Telling[]> {
    const gone = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await gone
    return [...this.#reported]
  }
}
