import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { bundleWorker } from '../races/bundled-worker.js'
import type { LoadedDatabase } from './loaded-database.js'
import type { LoadCount, LoadReport } from './usage-load.js'

export interface LoadTask {
  readonly worker: number
  readonly callers: number
  readonly database: LoadedDatabase
  readonly redis: string
  readonly prefix: string
  readonly ttlSeconds: number
  readonly isReliable: boolean
}

export type ToLoadWorker = { readonly kind: 'start'; readonly task: LoadTask } | { readonly kind: 'finish' }
export interface FromLoadWorker {
  readonly kind: 'progress' | 'report'
  readonly report: LoadReport
}

/** Running processes, each with its own cache, over one database and one Redis. */
export interface LoadProcesses {
  /** Resolves once each process has counted this many more, or has ended. */
  untilMore(of: LoadCount, more: number): Promise<void>
  /** Lets the processes finish and returns their reports. */
  finish(): Promise<LoadReport[]>
  /** Kills the processes. */
  stop(): void
}

export async function startLoad(processes: number, task: Omit<LoadTask, 'worker'>): Promise<LoadProcesses> {
  const entry = fileURLToPath(new URL('./load-worker.ts', import.meta.url))
  const { file, remove } = await bundleWorker(entry)
  const workers = Array.from({ length: processes }, (_, worker) => startWorker(file, { ...task, worker }))
  return {
    async untilMore(of, more) {
      await Promise.all(workers.map((worker) => worker.untilMore(of, more)))
    },
    async finish() {
      for (const worker of workers) worker.finish()
      return Promise.all(workers.map((worker) => worker.report))
    },
    stop() {
      for (const worker of workers) worker.stop()
      remove()
    },
  }
}

function startWorker(file: string, task: LoadTask) {
  const worker = fork(file)
  let current: LoadReport | undefined
  let onProgress = () => {}
  const report = new Promise<LoadReport>((resolve, reject) => {
    worker.on('message', (message: FromLoadWorker) => {
      current = message.report
      onProgress()
      if (message.kind === 'report') resolve(message.report)
    })
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`A load process exited with code ${code}.`)))
  })
  // Failures reach the callers of `untilMore` and `finish`. Before such a call, they must not count as unhandled.
  report.catch(() => {})
  const send = (message: ToLoadWorker) => {
    if (worker.connected) worker.send(message)
  }
  send({ kind: 'start', task })

  return {
    report,
    async untilMore(of: LoadCount, more: number) {
      const goal = (current?.[of] ?? 0) + more
      const reached = new Promise<void>((resolve) => {
        onProgress = () => {
          if (current![of] >= goal) resolve()
        }
      })
      await Promise.race([reached, report])
    },
    finish: () => send({ kind: 'finish' }),
    stop: () => worker.kill('SIGKILL'),
  }
}
