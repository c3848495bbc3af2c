import type { StorageObjectStore } from '@svc/db'
import { openDatabase, type Connection, type OpenDatabase } from '../races/database.js'
import { emptyLoadReport, runLoad, type LoadReport, type LoadTask } from './load.js'

/** The calls of a store that the test makes in another process, and so in another version. */
export type RemoteMethod =
  'migrate' | 'verify' | 'checkUsage' | 'reserve' | 'confirm' | 'listByScope' | 'getScopeUsage'

export type ToProcess =
  | { readonly kind: 'open'; readonly connection: Connection }
  | {
      readonly kind: 'call'
      readonly number: number
      readonly method: RemoteMethod
      readonly input: unknown[]
    }
  | { readonly kind: 'start'; readonly task: LoadTask }
  | { readonly kind: 'finish' }
  | { readonly kind: 'close' }

export type FromProcess =
  | { readonly kind: 'result'; readonly number: number; readonly result: unknown }
  | { readonly kind: 'failure'; readonly number: number; readonly text: string }
  | { readonly kind: 'progress'; readonly calls: number }
  | { readonly kind: 'report'; readonly report: LoadReport }

/** Milliseconds between two progress messages. */
const PROGRESS_INTERVAL = 20

const CONNECTIONS = 8

// A process of either version, which makes single calls and loads until it is told to close.
let database: OpenDatabase
let store: StorageObjectStore
let isOver = false
process.on('message', (message: ToProcess) => {
  if (message.kind === 'open') {
    database = openDatabase(message.connection, CONNECTIONS)
    store = database.open()
  } else if (message.kind === 'finish') isOver = true
  else if (message.kind === 'call') void call(message)
  else if (message.kind === 'start') void load(message.task)
  else void database.close().then(() => process.disconnect())
})
// The parent process is gone.
process.on('disconnect', () => process.exit())

async function call({ number, method, input }: Extract<ToProcess, { kind: 'call' }>): Promise<void> {
  try {
    const result: unknown = await Reflect.apply(Reflect.get(store, method) as () => unknown, store, input)
    send({ kind: 'result', number, result })
  } catch (error) {
    send({ kind: 'failure', number, text: error instanceof Error ? error.stack! : String(error) })
  }
}

async function load(task: LoadTask): Promise<void> {
  isOver = false
  const report = emptyLoadReport()
  const progress = setInterval(() => send({ kind: 'progress', calls: report.calls }), PROGRESS_INTERVAL)
  try {
    await runLoad(store, task, report, () => isOver)
  } catch (error) {
    report.faults.push(`a process of ${task.version} failed: ${String(error)}`)
  }
  clearInterval(progress)
  send({ kind: 'report', report })
}

function send(message: FromProcess): void {
  process.send?.(message)
}
