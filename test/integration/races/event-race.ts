import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleWorker } from './bundled-worker.js'

/** The task of one worker process. */
export interface EventTask {
  /** What the adapter needs to connect to the shared database. */
  readonly connection: Readonly<Record<string, string>>
  readonly writers: number
  readonly claimers: number
  /** When the clock of the stores showed the real time, and how much faster it runs. */
  readonly started: number
  readonly pace: number
  /** The file in which the process logs every call. */
  readonly log: string
}

export type ToEventWorker =
  | { readonly kind: 'start'; readonly task: EventTask }
  /** Kills the process with SIGKILL once it has got its next claims. */
  | { readonly kind: 'die' }
  | { readonly kind: 'finish' }
export interface FromEventWorker {
  readonly kind: 'progress'
  /** Number of calls of writers that have succeeded. */
  readonly successes: number
}

/** Worker processes that write objects and deliver events in one database. */
export interface EventRace {
  /** Resolves when this many more calls have succeeded in every process. */
  untilSucceeded(more: number): Promise<void>
  /** Kills a process with SIGKILL while it holds claims, starts another one in its place, and returns the log of the killed one. */
  killWorker(): Promise<string>
  /** Lets the processes end their current calls, and returns the logs of all, the killed ones included. */
  finish(): Promise<string[]>
  /** Kills the processes and removes the logs. */
  stop(): void
}

/** Starts worker processes that run `entry`, which must call `serveAsEventWorker`. */
export async function startEventRace(
  entry: string,
  processes: number,
  task: Omit<EventTask, 'log'>,
): Promise<EventRace> {
  const { file, remove } = await bundleWorker(entry)
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-events-'))
  const logs: string[] = []
  const newLog = () => {
    const log = join(folder, `${logs.length}.jsonl`)
    logs.push(log)
    return log
  }
  const start = () => startWorker(file, { ...task, log: newLog() })
  const workers = Array.from({ length: processes }, start)
  let kills = 0
  return {
    async untilSucceeded(more) {
      await Promise.all(workers.map((worker) => worker.untilSucceeded(more)))
    },
    async killWorker() {
      const index = kills++ % workers.length
      const worker = workers[index]!
      await worker.die()
      workers[index] = start()
      return worker.log
    },
    async finish() {
      await Promise.all(workers.map((worker) => worker.finish()))
      return [...logs]
    },
    stop() {
      for (const worker of workers) worker.stop()
      remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function startWorker(file: string, task: EventTask) {
  const worker = fork(file)
  const exit = once(worker, 'exit')
  let successes = 0
  let onProgress = () => {}
  worker.on('message', (message: FromEventWorker) => {
    successes = message.successes
    onProgress()
  })
  const send = (message: ToEventWorker) => worker.connected && worker.send(message)
  send({ kind: 'start', task })

  return {
    log: task.log,
    async untilSucceeded(more: number) {
      const goal = successes + more
      const reached = new Promise<void>((resolve) => {
        onProgress = () => {
          if (successes >= goal) resolve()
        }
      })
      await Promise.race([
        reached,
        exit.then(() => Promise.reject(new Error('A worker process ended before its work was done.'))),
      ])
    },
    async finish() {
      send({ kind: 'finish' })
      const [code, signal] = (await exit) as [number | null, string | null]
      if (code !== 0) throw new Error(`A worker process exited with ${code ?? signal}.`)
    },
    async die() {
      send({ kind: 'die' })
      await exit
    },
    stop: () => worker.kill('SIGKILL'),
  }
}
