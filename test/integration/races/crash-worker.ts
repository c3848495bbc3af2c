import type { StorageObjectStore } from '@svc/db'
import { emptyCrashReport, proveThatCallsSucceed, runCrashLoad } from './crash-load.js'
import type { CrashTask, FromCrashWorker, ToCrashWorker } from './crash-race.js'

/** Milliseconds between two progress messages. */
const PROGRESS_INTERVAL = 20

/**
 * Opens a store over the shared database, with one connection per caller. `close` rejects if the driver is left with
 * connections that are broken or in use.
 */
export type OpenCrashStore = (
  task: CrashTask,
) => Promise<{ store: StorageObjectStore; close: () => Promise<void> }>

/** Runs a worker process against a server that crashes: works until it gets `finish`, then sends its report. */
export function serveAsCrashWorker(open: OpenCrashStore): void {
  let isOver = false
  process.on('message', (message: ToCrashWorker) => {
    if (message.kind === 'finish') isOver = true
    else void work(message.task)
  })
  // The parent process is gone.
  process.on('disconnect', () => process.exit())

  async function work(task: CrashTask): Promise<void> {
    const report = emptyCrashReport()
    const sendProgress = () => send({ kind: 'progress', acknowledged: report.acknowledged })
    const progress = setInterval(sendProgress, PROGRESS_INTERVAL)
    try {
      const { store, close } = await open(task)
      const load = { callers: task.callers, prefix: `caller ${task.worker}` }
      await runCrashLoad(store, report, { ...load, isOver: () => isOver })
      await proveThatCallsSucceed(store, report, load)
      await close()
    } catch (error) {
      report.faults.push(`a worker process failed: ${String(error)}`)
    }
    clearInterval(progress)
    process.send?.({ kind: 'report', report } satisfies FromCrashWorker, () => process.disconnect())
  }
}

function send(message: FromCrashWorker): void {
  process.send?.(message)
}
