import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { bundleWorker } from './bundled-worker.js'
import type { FromWorker, ToWorker } from './worker.js'

/** Processes that run one program until they are told to finish. */
export interface Workers<Report> {
  /** Resolves when this number of the report has grown by as much in every process, or the process has ended. */
  untilMore(count: keyof Report & string, more: number): Promise<void>
  /** Lets the processes end their current calls, and returns their reports. */
  finish(): Promise<Report[]>
  /** Resolves when all processes have exited by themselves. Call it after `finish`. */
  exited(): Promise<unknown>
  /** Kills a process at its next moment of this name, and starts another one in its place. */
  replace(index: number, when: string): Promise<{ readonly worker: number; readonly pid: number }>
  /** Returns the ids of the processes. */
  pids(): readonly number[]
  /** Kills the processes. */
  stop(): void
}

/** Starts processes that run `entry`, which must call `serveAsWorker`. The task of each has its number as `worker`. */
export async function startWorkers<Task extends { readonly worker: number }, Report>(
  entry: URL,
  processes: number,
  task: Omit<Task, 'worker'>,
): Promise<Workers<Report>> {
  const { file, remove } = await bundleWorker(fileURLToPath(entry))
  let started = 0
  const start = () => startWorker<Task, Report>(file, { ...task, worker: started++ } as unknown as Task)
  const workers = Array.from({ length: processes }, start)
  return {
    async untilMore(count, more) {
      await Promise.all(workers.map((worker) => worker.untilMore(count, more)))
    },
    async finish() {
      for (const worker of workers) worker.send({ kind: 'finish' })
      return Promise.all(workers.map((worker) => worker.report))
    },
    exited: () => Promise.all(workers.map(({ exit }) => exit)),
    async replace(index, when) {
      const { child, send, exit, worker } = workers[index]!
      send({ kind: 'die', when })
      const [, signal] = (await exit) as [number | null, string | null]
      if (signal !== 'SIGKILL') throw new Error(`A worker process ended before it was killed ${when}.`)
      workers[index] = start()
      return { worker, pid: child.pid! }
    },
    pids: () => workers.map(({ child }) => child.pid!),
    stop() {
      for (const { child } of workers) child.kill('SIGKILL')
      remove()
    },
  }
}

function startWorker<Task extends { readonly worker: number }, Report>(file: string, task: Task) {
  const child = fork(file)
  let counts: Readonly<Record<string, number>> = {}
  const waiting = new Set<() => void>()
  const report = new Promise<Report>((resolve, reject) => {
    child.on('message', (message: FromWorker<Report>) => {
      if (message.kind === 'report') return resolve(message.report)
      if (message.kind === 'failure') return reject(new Error(`A worker process failed: ${message.text}`))
      counts = message.counts
      for (const check of waiting) check()
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`A worker process exited with code ${code}.`)))
  })
  // A failure is reported to those who await the report. Until then it must not count as an unhandled rejection.
  report.catch(() => {})
  const send = (message: ToWorker<Task>) => void (child.connected && child.send(message))
  send({ kind: 'start', task })
  return {
    child,
    send,
    report,
    worker: task.worker,
    exit: once(child, 'exit'),
    async untilMore(count: string, more: number) {
      const goal = (counts[count] ?? 0) + more
      const reached = new Promise<void>((resolve) => {
        const check = () => {
          if ((counts[count] ?? 0) < goal) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      })
      await Promise.race([reached, report])
    },
  }
}
