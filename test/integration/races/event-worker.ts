import type { StorageObjectStore } from '@svc/db'
import { claimAndSettle } from './delivery-load.js'
import { openLog } from './event-log.js'
import type { EventTask, FromEventWorker, ToEventWorker } from './event-race.js'
import { writeObjects } from './object-load.js'

/** Opens the shared database with this many connections. */
export type OpenEventStores = (task: EventTask) => {
  /** Opens a store over these connections. */
  readonly open: (now: () => Date) => StorageObjectStore
  readonly close: () => Promise<void>
}

/** Milliseconds between two progress messages. */
const PROGRESS_INTERVAL = 20

/** Runs a worker process with writers and claimers: works until it gets `finish`, or is killed. */
export function serveAsEventWorker(openStores: OpenEventStores): void {
  let isOver = false
  let isDying = false
  process.on('message', (message: ToEventWorker) => {
    if (message.kind === 'finish') isOver = true
    else if (message.kind === 'die') isDying = true
    else void work(message.task)
  })
  // The parent process is gone.
  process.on('disconnect', () => process.exit())

  async function work(task: EventTask): Promise<void> {
    let successes = 0
    const sendProgress = () => send({ kind: 'progress', successes })
    const progress = setInterval(sendProgress, PROGRESS_INTERVAL)
    const log = openLog(task.log)
    try {
      const { open, close } = openStores(task)
      const clock = clockOf(task)
      const store = open(() => new Date(clock()))
      const shared = { log, clock, isOver: () => isOver }
      const onClaim = () => void (isDying && process.kill(process.pid, 'SIGKILL'))
      const onSuccess = () => void successes++
      await Promise.all([
        ...Array.from({ length: task.writers }, () => writeObjects({ ...shared, store, onSuccess })),
        ...Array.from({ length: task.claimers }, () => claimAndSettle({ ...shared, open, onClaim })),
      ])
      await close()
    } catch (error) {
      log.write({ kind: 'fault', text: `a worker process failed: ${String(error)}` })
    }
    clearInterval(progress)
    log.close()
    process.disconnect()
  }
}

/** Returns a clock that all processes of a race share. It runs faster than time, so claims expire soon. */
export function clockOf({ started, pace }: Pick<EventTask, 'started' | 'pace'>): () => number {
  return () => started + (Date.now() - started) * pace
}

function send(message: FromEventWorker): void {
  if (process.connected) process.send?.(message)
}
