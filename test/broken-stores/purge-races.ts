import type { StorageObject } from '../../src/adapter.js'
import { SCRIPTS, gap, overDriver, driverCall, type Mutants } from './mutant.js'

export const purgeRaceMutants: Mutants = {
  'returns a purged row to every purge that read it': [
    driverCall('purgeExpired', async (command, driver) => {
      const rows = await driver.listExpired({ ...command, after: null })
      await gap()
      await driver.purgeExpired(command)
      return { rows }
    }),
    'concurrency: each expired row is returned by exactly one purge',
    SCRIPTS.overExpired,
  ],
  'purges a row that was confirmed after it was read': [
    driverCall('purgeExpired', async (command, driver) => {
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
      return { rows: purged }
    }),
    'concurrency: a purge never drops a confirmed row',
    SCRIPTS.overExpired,
  ],
  'purges whatever is reserved at a key that had expired': [
    driverCall('purgeExpired', async (command, driver) => {
      const rows = await driver.listExpired({ ...command, after: null })
      await gap()
      const purged: StorageObject[] = []
      for (const expired of rows) {
        const { row } = await driver.release({ ...expired, id: null, uploadId: null, now: command.now })
        if (row) purged.push(row)
      }
      return { rows: purged }
    }),
    'concurrency: a purge never drops a reservation that took the place of an expired one',
  ],
  'skips expired rows while another key is written': [
    overDriver((driver) => {
      let writing = 0
      return {
        async reserve(command) {
          writing++
          await gap()
          writing--
          return driver.reserve(command)
        },
        purgeExpired: async (command) => (writing > 0 ? { rows: [] } : driver.purgeExpired(command)),
      }
    }),
    SCRIPTS.overExpired,
  ],
  'counts a row of history in every purge that read it': [
    driverCall('purgeDeleted', async (command, driver) => {
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
      await driver.purgeDeleted(command)
      return { dropped: Math.min(dropped, command.limit) }
    }),
    'concurrency: each row of history is counted by exactly one purge',
  ],
  'returns true to every call that read a leftover before it was forgotten': [
    driverCall('forgetLeftover', async (attemptId, driver) => {
      const leftovers = await driver.listLeftovers({ scope: null, limit: 1000, after: null })
      await gap()
      await driver.forgetLeftover(attemptId)
      return leftovers.some((leftover) => leftover.attemptId === attemptId)
    }),
    'concurrency: a leftover is forgotten by exactly one call',
  ],
}
