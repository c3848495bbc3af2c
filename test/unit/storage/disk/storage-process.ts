import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { onTestFinished } from 'vitest'
import type { WorkerMessage, WorkerTask } from './storage-worker.js'

/** The bundled `storage-worker.ts`. Runs in separate processes, which a test can kill. */
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

/** A process with a storage. It is killed at the end of the test. */
class StorageProcess {
  readonly #child: ChildProcess
  readonly #messages: WorkerMessage[] = []
  #failure: Error | null = null
  #wake = () => {}

  constructor(child: ChildProcess, task: WorkerTask) {
    this.#child = child
    child.on('message', (message: WorkerMessage) => {
      this.#messages.push(message)
      this.#wake()
    })
    child.on('exit', (code, signal) => {
      this.#failure = new Error(`The process has exited (${code ?? signal}).`)
      this.#wake()
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    child.send(task)
  }

  /** Waits for this many messages, and returns all messages so far. */
  async messages(count: number): Promise<readonly WorkerMessage[]> {
    while (this.#messages.length < count) {
      if (this.#failure) throw this.#failure
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return [...this.#messages]
  }

  proceed(): void {
    this.#child.send('proceed')
  }

  /** Kills the process without warning. Resolves when it has exited. */
  async kill(): Promise<readonly WorkerMessage[]> {
    const gone = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await gone
    return [...this.#messages]
  }
}
