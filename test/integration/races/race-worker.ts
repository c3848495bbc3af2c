import type { StorageObjectStore } from '@svc/db'
import { runProgram } from './programs.js'
import { emptyReport, type RaceReport, type RaceTask } from './race.js'

/** A store over the place that the processes share, with a connection for every caller. */
export type OpenPlace = (task: RaceTask) => Promise<{ store: StorageObjectStore; close: () => Promise<void> }>

/** The whole of a process that races: waits for its task, does it, tells what came of it, and ends. */
export function serveAsRaceWorker(open: OpenPlace): void {
  process.once('message', (task: RaceTask) => {
    void work(open, task).then((report) => {
      process.send?.(report, () => process.disconnect())
    })
  })
}

async function work(open: OpenPlace, task: RaceTask): Promise<RaceReport> {
  try {
    const { store, close } = await open(task)
    const report = await runProgram(store, task.program, { ...task, prefix: `caller ${task.worker}` })
    await close()
    return report
  } catch (error) {
    return { ...emptyReport(), faults: [`a process failed: ${String(error)}`] }
  }
}
