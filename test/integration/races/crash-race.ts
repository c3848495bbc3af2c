import { fork, type ChildProcess } from 'node:child_process'
import { bundleWorker } from './bundled-worker.js'
import { emptyCrashReport, type CrashReport } from './crash-load.js'
import { sumOfReports, type RaceTask } from './race.js'

/** What one process is told to do. */
export type CrashTask = Omit<RaceTask, 'program' | 'milliseconds'>

export type ToCrashWorker = { readonly kind: 'start'; readonly task: CrashTask } | { readonly kind: 'finish' }
export type FromCrashWorker =
  | { readonly kind: 'progress'; readonly acknowledged: number }
  | { readonly kind: 'report'; readonly report: CrashReport }

/** Processes at work on one server, which somebody else kills and starts again meanwhile. */
export interface CrashRace {
  /** Resolves when every process has been told of so many more calls that they succeeded, or is done. */
  untilAcknowledged(more: number): Promise<void>
  /** Lets the processes come to an end on a server that is up; resolves to what came of it. */
  finish(): Promise<CrashReport>
  /** Ends the processes, however far they are. */
  stop(): void
}

/** `entry` calls {@link serveAsCrashWorker} with what opens the adapter's store. */
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
        unanswered: reports.reduce((sum, report) => sum + report.unanswered, 0),
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
    worker.once('exit', (code) => reject(new Error(`A process of the race ended with code ${code}.`)))
  })
  // Whoever waits for it hears of a failure; until then it is no unhandled one.
  report.catch(() => {})
  tell(worker, { kind: 'start', task })

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
    finish: () => tell(worker, { kind: 'finish' }),
    stop: () => worker.kill('SIGKILL'),
  }
}

function tell(worker: ChildProcess, message: ToCrashWorker): void {
  if (worker.connected) worker.send(message)
}
