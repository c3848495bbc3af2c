import type { StorageObjectStore } from '@svc/db'
import { runProgram } from './programs.js'
import { emptyReport, type RaceReport, type RaceTask } from './race.js'

/** Opens a store over the shared database, with one connection per caller. */
export type OpenStore = (task: RaceTask) => Promise<{ store: StorageObjectStore; close: () => Promise<void> }>

/** Runs a worker process: waits for its task, runs it, sends the report and exits. */
export function serveAsRaceWorker(open: OpenStore): void {
  process.once('message', (task: RaceTask) => {
    void work(open, task).then((report) => {
      process.send?.(report, () => process.disconnect())
    })
  })
}

async function work(open: OpenStore, task: RaceTask): Promise<RaceReport> {
  try {
    const { store, close } = await open(task)
    const report = await runProgram(store, task.program, { ...task, prefix: `caller ${task.worker}` })
    await close()
    return report
  } catch (error) {
    return { ...emptyReport(), faults: [`a worker process failed: ${String(error)}`] }
  }
}
