import { closeSync, openSync, writeSync } from 'node:fs'
import { deliverEvents } from '@svc/db'
import { openDatabase } from './database.js'
import type { DeliveryLine, DeliveryTask } from './delivery-race.js'
import { serveAsWorker } from './worker.js'

/** Which handler of each process runs for longer than a claim. */
const LONG_HANDLER = 5

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

serveAsWorker<DeliveryTask, object>({}, async ({ connection, log, claimSeconds }, _, orders) => {
  const { finish, dieIfOrdered } = orders
  const file = openSync(log, 'a')
  // In the file before the next statement runs, so it survives a kill.
  const write = (line: DeliveryLine) => void writeSync(file, `${JSON.stringify(line)}\n`)
  const { open, close } = openDatabase(connection, 4)
  const store = open()
  const settle = store.settleEvents.bind(store)
  store.settleEvents = (entries) => {
    if (entries.length > 0) dieIfOrdered('before settling')
    return settle(entries)
  }

  let handlers = 0
  await deliverEvents(store, {
    async onEvent({ id, attempts, type, object }) {
      const line = { id, attempts, pid: process.pid, key: object.key, name: `${type} ${object.attemptId}` }
      write({ kind: 'started', ...line })
      dieIfOrdered('in a handler')
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
    signal: finish,
  })
  await close()
  closeSync(file)
})
