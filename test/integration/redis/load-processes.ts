import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { bundleWorker } from '../races/bundled-worker.js'
import type { LoadedDatabase } from './loaded-database.js'
import type { LoadReport } from './usage-load.js'

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

/** Processes at work with a cache each, over one database and one Redis. */
export interface LoadProcesses {
  /** Resolves when each process has done so many more of these, or is done altogether. */
  untilMore(of: 'answers' | 'hits' | 'writes' | 'told', more: number): Promise<void>
  /** Lets them come to an end; resolves to what came of it, of each. */
  finish(): Promise<LoadReport[]>
  /** Ends them, however far they are. */
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
    worker.once('exit', (code) => reject(new Error(`A process of the load ended with code ${code}.`)))
  })
  // Whoever waits for it hears of a failure; until then it is no unhandled one.
  report.catch(() => {})
  const tell = (message: ToLoadWorker) => {
    if (worker.connected) worker.send(message)
  }
  tell({ kind: 'start', task })

  return {
    report,
    async untilMore(of: 'answers' | 'hits' | 'writes' | 'told', more: number) {
      const goal = (current?.[of] ?? 0) + more
      const reached = new Promise<void>((resolve) => {
        onProgress = () => {
          if (current![of] >= goal) resolve()
        }
      })
      await Promise.race([reached, report])
    },
    finish: () => tell({ kind: 'finish' }),
    stop: () => worker.kill('SIGKILL'),
  }
}
