import type { ObjectReference, StorageObject } from '@svc/db'
import { storeConformance } from '@svc/db/conformance'
import { everyGroup } from '../conformance-groups.js'
import { overDriver } from '../broken-stores/mutant.js'
import { permissiveEvents } from './permissive-events.js'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/**
 * Uses every freedom of the contract: calls wait before they write, purges work row by row and skip rows that another call
 * works on, and events have an order and ids of their own. The suite must not demand more than the contract.
 */
const permissive = overDriver((driver) => {
  const workedOn = new Map<string, number>()

  async function workOn<T>({ bucket, key }: ObjectReference, write: () => Promise<T>): Promise<T> {
    const name = JSON.stringify([bucket, key])
    workedOn.set(name, (workedOn.get(name) ?? 0) + 1)
    await nextTurn()
    try {
      return await write()
    } finally {
      await nextTurn()
      workedOn.set(name, workedOn.get(name)! - 1)
    }
  }

  return {
    ...permissiveEvents(driver),
    reserve: (command) => workOn(command, () => driver.reserve(command)),
    confirm: (command) => workOn(command, () => driver.confirm(command)),
    setUploadId: (command) => workOn(command, () => driver.setUploadId(command)),
    release: (command) => workOn(command, () => driver.release(command)),
    remove: (command) => workOn(command, () => driver.remove(command)),

    async purgeExpired(command) {
      const rows: StorageObject[] = []
      for (const row of await driver.listExpired({ ...command, after: null })) {
        await nextTurn()
        if (workedOn.get(JSON.stringify([row.bucket, row.key]))) continue
        const released = await driver.release({ ...row, uploadId: null, now: command.now })
        if (released.row) rows.push(released.row)
      }
      return { rows }
    },

    async purgeDeleted(command) {
      let dropped = 0
      while (dropped < command.limit) {
        await nextTurn()
        const one = await driver.purgeDeleted({ ...command, limit: 1 })
        if (one.dropped === 0) break
        dropped += one.dropped
      }
      return { dropped }
    },
  }
})

storeConformance({
  name: 'a store that uses every freedom of the contract',
  createStore: permissive,
  test: everyGroup,
  numRuns: 50,
})
