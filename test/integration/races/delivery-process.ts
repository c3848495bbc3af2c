import { closeSync, openSync, writeSync } from 'node:fs'
import { deliverEvents, type StorageObjectStore } from '@svc/db'
import type { DeliveryLine, DeliveryTask, ToDeliveryProcess } from './delivery-race.js'

/** Opens the shared database. */
export type OpenDeliveryStore = (connection: DeliveryTask['connection']) => {
  readonly store: StorageObjectStore
  readonly close: () => Promise<void>
}

/** Which handler of each process runs for longer than a claim. */
const LONG_HANDLER = 5

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Runs a process that delivers events until it is told to finish, or kills itself. */
export function serveAsDeliveryProcess(open: OpenDeliveryStore): void {
  const stop = new AbortController()
  let death: 'in a handler' | 'before settling' | null = null
  process.on('message', (message: ToDeliveryProcess) => {
    if (message.kind === 'finish') stop.abort()
    else if (message.kind === 'die') death = message.when
    else void work(message.task)
  })
  // The parent process is gone.
  process.on('disconnect', () => process.exit())
  const die = () => process.kill(process.pid, 'SIGKILL')

  async function work({ connection, log, claimSeconds }: DeliveryTask): Promise<void> {
    const file = openSync(log, 'a')
    // In the file before the next statement runs, so it survives a kill.
    const write = (line: DeliveryLine) => void writeSync(file, `${JSON.stringify(line)}\n`)
    const { store, close } = open(connection)
    const settle = store.settleEvents.bind(store)
    store.settleEvents = (entries) => {
      if (death === 'before settling' && entries.length > 0) die()
      return settle(entries)
    }
    let handlers = 0
    await deliverEvents(store, {
      async onEvent({ id, attempts, type, object }) {
        const line = { id, attempts, pid: process.pid, key: object.key, name: `${type} ${object.attemptId}` }
        write({ kind: 'started', ...line })
        if (death === 'in a handler') die()
        const chance = Math.random()
        if (++handlers === LONG_HANDLER) await wait(1200 * claimSeconds)
        else if (chance < 0.5) await wait(chance * 20)
        const isFailure = attempts === 1 && chance > 0.97
        write({ kind: isFailure ? 'threw' : 'returned', ...line })
        if (isFailure) throw new Error('The handler failed.')
      },
      onError: (error) => write({ kind: 'reported', text: String(error) }),
      pollSeconds: 0.05,
      claimSeconds,
      signal: stop.signal,
    })
    await close()
    closeSync(file)
    process.disconnect()
  }
}
