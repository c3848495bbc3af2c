import { fork, type ChildProcess } from 'node:child_process'
import { bundleWorker } from './bundled-worker.js'
import { emptyCrashReport, type CrashReport } from './crash-load.js'
import { sumOfReports, type RaceTask } from './race.js'

/** The task of one worker process. */
export type CrashTask = Omit<RaceTask, 'program' | 'milliseconds'>

export type ToCrashWorker = { readonly kind: 'start'; readonly task: CrashTask } | { readonly kind: 'finish' }
export type FromCrashWorker =
  | { readonly kind: 'progress'; readonly acknowledged: number }
  | { readonly kind: 'report'; readonly report: CrashReport }

/** Worker processes on one server that the test crashes and restarts meanwhile. */
export interface CrashRace {
  /** Resolves when this many more calls have succeeded in every process, or the process has ended. */
  untilAcknowledged(more: number): Promise<void>
  /** Lets the processes finish on a running server and sums up their reports. */
  finish(): Promise<CrashReport>
  /** Kills the processes. */
  stop(): void
}

/** Starts worker processes that run `entry`, which must call `serveAsCrashWorker`. */
export async function startCrashRace(
  entry: string,
  processes: number,
  task: Omit<CrashTask, 'worker'>,
): Promise<CrashRace> {
  const { file, remove } = await bundleWorker(entry)
  const workers = Array.from({ length: processes }, (_, worker) => startWorker(file, { ...task, worker }))
  return {
    async untilAcknowledged(more) {
      await Promise.all(workers.map((worker) => worker.untilAcknowledged(more)))
    },
    async finish() {
      for (const worker of workers) worker.finish()
      const reports = await Promise.all(workers.map((worker) => worker.report))
      return {
        ...emptyCrashReport(),
        ...sumOfReports(reports),
        unavailable: reports.reduce((sum, report) => sum + report.unavailable, 0),
        memories: reports.flatMap((report) => report.memories),
      }
    },
    stop() {
      for (const worker of workers) worker.stop()
      remove()
    },
  }
}

function startWorker(file: string, task: CrashTask) {
  const worker = fork(file)
  let acknowledged = 0
  let onProgress = () => {}
  const report = new Promise<CrashReport>((resolve, reject) => {
    worker.on('message', (message: FromCrashWorker) => {
      if (message.kind === 'report') return resolve(message.report)
      acknowledged = message.acknowledged
      onProgress()
    })
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`A worker process exited with code ${code}.`)))
  })
  // A failure is reported to those who await the report. Until then it must not count as an unhandled rejection.
  report.catch(() => {})
  send(worker, { kind: 'start', task })

  return {
    report,
    async untilAcknowledged(more: number) {
      const goal = acknowledged + more
      const reached = new Promise<void>((resolve) => {
        onProgress = () => {
          if (acknowledged >= goal) resolve()
        }
      })
      await Promise.race([reached, report])
    },
    finish: () => send(worker, { kind: 'finish' }),
    stop: () => worker.kill('SIGKILL'),
  }
}

function send(worker: ChildProcess, message: ToCrashWorker): void {
  if (worker.connected) worker.send(message)
}
