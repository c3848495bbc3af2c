import type { ChildProcess } from 'node:child_process'
import type { KeyState, RaceMessage, RaceTask } from './messages.js'

export interface WorkerOptions {
  readonly worker: string | URL
  readonly execArgv?: readonly string[] | null | undefined
}

async function start({ worker, execArgv }: WorkerOptions, task: RaceTask): Promise<ChildProcess> {
  // Loaded here, because the suite itself also runs without Node's modules.
  const { fork } = await import('node:child_process')
  const child = fork(worker, { execArgv: [...(execArgv ?? [])], serialization: 'json' })
  child.send(task)
  return child
}

/** Resolves with the codes of a worker's calls. */
export async function codesOf(
  options: WorkerOptions,
  task: RaceTask,
): Promise<Readonly<Record<string, number>>> {
  const child = await start(options, task)
  try {
    return await new Promise((resolve, reject) => {
      child.on('message', (message: RaceMessage) => {
        if (message.kind === 'codes') resolve(message.codes)
        if (message.kind === 'error') reject(new Error(`A worker failed: ${message.message}`))
      })
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`A worker process exited with code ${String(code)}.`)))
    })
  } finally {
    child.kill('SIGKILL')
  }
}

/** What a key is after its last acknowledged write, and what the write in progress makes of it. */
export interface LastWrites {
  readonly acknowledged: KeyState
  readonly started: WriteInProgress | null
}

/** One object for all keys of a write. */
export interface WriteInProgress {
  readonly keys: readonly string[]
  readonly to: KeyState
}

/** Runs a worker until this many of its writes were acknowledged, and kills it in the middle of the next ones. */
export async function killAfter(
  writes: number,
  options: WorkerOptions,
  task: RaceTask,
): Promise<ReadonlyMap<string, LastWrites>> {
  const child = await start(options, task)
  const last = new Map<string, LastWrites>()
  let acknowledged = 0
  await new Promise<void>((resolve, reject) => {
    child.on('message', (message: RaceMessage) => {
      if (message.kind === 'error') reject(new Error(`A worker failed: ${message.message}`))
      if (message.kind === 'start') {
        for (const key of message.keys) {
          const before = last.get(key)?.acknowledged ?? 'nothing'
          last.set(key, { acknowledged: before, started: message })
        }
      }
      if (message.kind === 'done') {
        for (const key of message.keys) {
          last.set(key, { acknowledged: last.get(key)!.started!.to, started: null })
        }
        if (++acknowledged === writes) child.kill('SIGKILL')
      }
    })
    child.once('error', reject)
    // All messages that the process had sent have arrived by then.
    child.once('close', () => resolve())
  }).finally(() => child.kill('SIGKILL'))
  return last
}
