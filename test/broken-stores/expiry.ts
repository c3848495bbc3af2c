import { StorageError } from '../../src/adapter.js'
import {
  SCRIPTS,
  overDriver,
  overStore,
  driverInput,
  storeResult,
  driverResult,
  storeInput,
  type Mutants,
  type Mutant,
} from './mutant.js'

export const expiryMutants: Mutants = {
  'lists expired rows a millisecond late': [
    driverInput('listExpired', (query) => ({ ...query, before: new Date(query.before.getTime() - 1) })),
    'listExpired: includes a row from the millisecond in which it expires',
    SCRIPTS.aboutExpiry,
  ],
  'lists rows that expire in the future': [
    overDriverWithoutClamp('listExpired'),
    'listExpired: treats before as the latest expiry, and a later date than now as now',
    SCRIPTS.aboutExpiry,
  ],
  'purges rows that expire in the future': [
    overDriverWithoutClamp('purgeExpired'),
    'purgeExpired: treats before as the latest expiry, and a later date than now as now',
    SCRIPTS.aboutExpiry,
  ],
  'lists expired rows in order of creation': [
    storeResult('listExpired', (rows) => rows.sort((a, b) => (a.id < b.id ? -1 : 1))),
    'listExpired: returns expired rows, earliest expiry first, and changes nothing',
    SCRIPTS.aboutExpiry,
  ],
  'pages through expired rows by expiry only': [
    driverInput('listExpired', (query) => ({
      ...query,
      after: query.after && { ...query.after, id: 'ffffffff-ffff-7fff-bfff-ffffffffffff' },
    })),
    'listExpired: pages through rows with the same expiry, even if the previous row is gone',
    SCRIPTS.aboutExpiry,
  ],
  'lists rows with the expiry of the previous item, even if before is earlier': [
    driverInput('listExpired', ({ before, after, ...query }) => ({
      ...query,
      before: after && after.expiresAt > before ? after.expiresAt : before,
      after,
    })),
    'listExpired: returns nothing after an item that expires later than before',
  ],
  'lists the expired rows of all scopes': [
    driverInput('listExpired', (query) => ({ ...query, scope: null })),
    'listExpired: returns only rows of the given scope',
    SCRIPTS.aboutExpiry,
  ],
  'purges rows a millisecond early': [
    driverInput('purgeExpired', (command) => ({
      ...command,
      before: new Date(command.before.getTime() + 1),
    })),
    'purgeExpired: removes only rows that are still pending and have expired',
    SCRIPTS.aboutExpiry,
  ],
  'purges the expired rows of all scopes': [
    driverInput('purgeExpired', (command) => ({ ...command, scope: null })),
    'purgeExpired: removes only rows of the given scope',
    SCRIPTS.aboutExpiry,
  ],
  'purges the object along with its expired replacement': [
    driverResult('purgeExpired', async (result, command, driver) => {
      for (const row of result.rows)
        await driver.remove({ ...row, attemptId: null, mode: 'soft', now: command.now })
      return result
    }),
    'purgeExpired: removes an expired replacement, and keeps the object it would have replaced',
    SCRIPTS.aboutExpiry,
  ],
  'ignores the limit of purgeExpired': [
    driverInput('purgeExpired', (command) => ({ ...command, limit: 1000 })),
    'purgeExpired: removes at most the given number of rows, earliest expiry first',
    SCRIPTS.aboutExpiry,
  ],
  'returns purged rows latest expiry first': [
    storeResult('purgeExpired', (result) => result.reverse()),
    'purgeExpired: removes expired rows and returns them unchanged, earliest expiry first',
  ],
  'lists an expired row even after the clock was set back': [
    overDriver((driver) => {
      let latest = new Date(0)
      return {
        listExpired(query) {
          if (query.before > latest) latest = query.before
          return driver.listExpired({ ...query, before: query.scope === null ? latest : query.before })
        },
      }
    }),
    'listExpired: includes a row from the millisecond in which it expires',
  ],
  'sorts rows with the same expiry by key': [
    storeResult('listExpired', (rows) =>
      rows.sort((a, b) => Number(a.expiresAt) - Number(b.expiresAt) || (a.key < b.key ? -1 : 1)),
    ),
    'listExpired: sorts rows with the same expiry by id',
  ],
  'lists 50 expired rows by default': [
    storeInput('listExpired', (input) => ({ ...input, limit: input?.limit ?? 50 })),
    'listExpired: returns 100 rows by default',
  ],
  'hides expired replacements': [
    storeResult('listExpired', async (rows, _input, store) => {
      const actives = await Promise.all(rows.map((row) => store.findActive(row)))
      return rows.filter((_, index) => actives[index] === null)
    }),
    'listExpired: includes expired replacements, but no active rows',
  ],
  'needs more than a position to list the next expired rows': [
    storeInput('listExpired', (input) =>
      input?.after && !('scope' in input.after) ? { ...input, after: null } : input,
    ),
    'listExpired: returns the page after the given item',
  ],
  'keeps a purged key for its scope': [
    overStore((store) => {
      const owners = new Map<string, string>()
      return {
        async purgeExpired(input) {
          const rows = await store.purgeExpired(input)
          for (const { key, scope } of rows) owners.set(key, scope)
          return rows
        },
        async reserve(input) {
          if ((owners.get(input?.key) ?? input?.scope) !== input?.scope)
            throw new StorageError('KEY_CONFLICT')
          return store.reserve(input)
        },
      }
    }),
    'purgeExpired: frees the key for any scope',
  ],
  'purges 50 rows by default': [
    storeInput('purgeExpired', (input) => ({ ...input, limit: input?.limit ?? 50 })),
    'purgeExpired: removes 100 rows by default',
  ],
}

/** Passes a `before` in the future to the driver, as if `createStore` did not clamp it. */
function overDriverWithoutClamp(call: 'listExpired' | 'purgeExpired'): Mutant['createStore'] {
  return (context) => {
    let latest: Date | null = null
    const store = overDriver((driver) => ({
      [call]: (query: Parameters<typeof driver.listExpired>[0] & Parameters<typeof driver.purgeExpired>[0]) =>
        driver[call]({ ...query, before: latest ?? query.before }),
    }))(context)
    return {
      ...store,
      [call]: (input: { before?: Date | null } = {}) => {
        latest = input.before ?? null
        return store[call](input)
      },
    }
  }
}
