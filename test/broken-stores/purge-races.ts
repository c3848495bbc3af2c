import type { StorageObject } from '../../src/adapter.js'
import { SCRIPTS, gap, overDriver, type Mutant } from './mutant.js'

export const purgeRaceMutants: readonly Mutant[] = [
  {
    defect: 'returns a purged row to every purge that read it',
    createStore: overDriver((driver) => ({
      async purgeExpired(command) {
        const rows = await driver.listExpired({ ...command, after: null })
        await gap()
        const { scopes } = await driver.purgeExpired(command)
        return { rows, scopes }
      },
    })),
    rejectedBy: ['concurrency: each expired row is returned by exactly one purge', SCRIPTS.overExpired],
  },
  {
    defect: 'purges a row that was confirmed after it was read',
    createStore: overDriver((driver) => ({
      async purgeExpired(command) {
        const rows = await driver.listExpired({ ...command, after: null })
        await gap()
        const purged: StorageObject[] = []
        for (const row of rows) {
          const result = await driver.release({ ...row, uploadId: null, now: command.now })
          if (result.row) purged.push(result.row)
          else if ((await driver.findActive(row))?.attemptId === row.id) {
            await driver.remove({ ...row, mode: 'hard', now: command.now })
          }
        }
        return { rows: purged, scopes: [] }
      },
    })),
    rejectedBy: ['concurrency: a purge never drops a confirmed row', SCRIPTS.overExpired],
  },
  {
    defect: 'purges whatever is reserved at a key that had expired',
    createStore: overDriver((driver) => ({
      async purgeExpired(command) {
        const rows = await driver.listExpired({ ...command, after: null })
        await gap()
        const purged: StorageObject[] = []
        for (const expired of rows) {
          const { row } = await driver.release({ ...expired, id: null, uploadId: null, now: command.now })
          if (row) purged.push(row)
        }
        return { rows: purged, scopes: [] }
      },
    })),
    rejectedBy: ['concurrency: a purge never drops a reservation that took the place of an expired one'],
  },
  {
    defect: 'skips expired rows while another key is written',
    createStore: overDriver((driver) => {
      let writing = 0
      return {
        async reserve(command) {
          writing++
          await gap()
          writing--
          return driver.reserve(command)
        },
        purgeExpired: async (command) =>
          writing > 0 ? { rows: [], scopes: [] } : driver.purgeExpired(command),
      }
    }),
    rejectedBy: [SCRIPTS.overExpired],
  },
  {
    defect: 'counts a row of history in every purge that read it',
    createStore: overDriver((driver) => ({
      async purgeDeleted(command) {
        let dropped = 0
        for (const scope of ['alice', 'bob']) {
          const rows = await driver.list({
            scope,
            statuses: ['deleted'],
            route: null,
            before: null,
            withMetadata: true,
            fromPrimary: true,
            limit: 1000,
          })
          dropped += rows.filter(({ deletedAt }) => deletedAt! <= command.before).length
        }
        await gap()
        const { scopes } = await driver.purgeDeleted(command)
        return { dropped: Math.min(dropped, command.limit), scopes }
      },
    })),
    rejectedBy: ['concurrency: each row of history is counted by exactly one purge'],
  },
  {
    defect: 'returns true to every call that read a leftover before it was forgotten',
    createStore: overDriver((driver) => ({
      async forgetLeftover(attemptId) {
        const leftovers = await driver.listLeftovers({ scope: null, limit: 1000, after: null })
        await gap()
        await driver.forgetLeftover(attemptId)
        return leftovers.some((leftover) => leftover.attemptId === attemptId)
      },
    })),
    rejectedBy: ['concurrency: a leftover is forgotten by exactly one call'],
  },
]
