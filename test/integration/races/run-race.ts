import { fork } from 'node:child_process'
import { bundleWorker } from './bundled-worker.js'
import { sumOfReports, type RaceReport, type RaceTask } from './race.js'

/** The bundled program of the worker processes. */
export interface RaceProcesses {
  /** Runs the task in this many processes at the same time and sums up their reports. */
  race(processes: number, task: Omit<RaceTask, 'worker'>): Promise<RaceReport>
  remove(): void
}

/** Bundles `entry`, which must call `serveAsRaceWorker`. */
export async function raceProcesses(entry: string): Promise<RaceProcesses> {
  const { file, remove } = await bundleWorker(entry)
  return {
    async race(processes, task) {
      const workers = Array.from({ length: processes }, (_, worker) => reportOf(file, { ...task, worker }))
      return sumOfReports(await Promise.all(workers))
    },
    remove,
  }
}

function reportOf(file: string, task: RaceTask): Promise<RaceReport> {
  return new Promise((resolve, reject) => {
    const worker = fork(file)
    worker.once('message', (report: RaceReport) => resolve(report))
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`A worker process exited with code ${code}.`)))
    worker.send(task)
  })
}
