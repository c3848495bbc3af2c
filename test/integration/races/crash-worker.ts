import type { StorageObjectStore } from '@svc/db'
import { emptyCrashReport, proveThatCallsSucceed, runCrashLoad } from './crash-load.js'
import type { CrashTask, FromCrashWorker, ToCrashWorker } from './crash-race.js'

/** Milliseconds between two messages about how far a process is. */
const PROGRESS = 20

/**
 * A store over the place that the processes share, with a connection for every caller. `close` fails where the driver is
 * left with connections that are broken or in use.
 */
export type OpenCrashPlace = (
  task: CrashTask,
) => Promise<{ store: StorageObjectStore; close: () => Promise<void> }>

/** The whole of a process that works on a server which is killed: works until told to finish, and tells what came of it. */
export function serveAsCrashWorker(open: OpenCrashPlace): void {
  let isOver = false
  process.on('message', (message: ToCrashWorker) => {
    if (message.kind === 'finish') isOver = true
    else void work(message.task)
  })
  // Nobody is there any more to tell it to finish.
  process.on('disconnect', () => process.exit())

  async function work(task: CrashTask): Promise<void> {
    const report = emptyCrashReport()
    const tellProgress = () => send({ kind: 'progress', acknowledged: report.acknowledged })
    const progress = setInterval(tellProgress, PROGRESS)
    try {
      const { store, close } = await open(task)
      const load = { callers: task.callers, prefix: `caller ${task.worker}` }
      await runCrashLoad(store, report, { ...load, isOver: () => isOver })
      await proveThatCallsSucceed(store, report, load)
      await close()
    } catch (error) {
      report.faults.push(`a process failed: ${String(error)}`)
    }
    clearInterval(progress)
    process.send?.({ kind: 'report', report } satisfies FromCrashWorker, () => process.disconnect())
  }
}

function send(message: FromCrashWorker): void {
  process.send?.(message)
}
