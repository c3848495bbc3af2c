import { StorageError } from '../../src/adapter.js'
import { SCRIPTS, overDriver, overStore, type Mutant } from './mutant.js'

export const expiryMutants: readonly Mutant[] = [
  {
    defect: 'lists expired rows a millisecond late',
    createStore: overDriver((driver) => ({
      listExpired: (query) => driver.listExpired({ ...query, before: new Date(query.before.getTime() - 1) }),
    })),
    rejectedBy: ['listExpired: includes a row from the millisecond in which it expires', SCRIPTS.aboutExpiry],
  },
  {
    defect: 'lists rows that expire in the future',
    createStore: overDriverWithoutClamp('listExpired'),
    rejectedBy: [
      'listExpired: treats before as the latest expiry, and a later date than now as now',
      SCRIPTS.aboutExpiry,
    ],
  },
  {
    defect: 'purges rows that expire in the future',
    createStore: overDriverWithoutClamp('purgeExpired'),
    rejectedBy: [
      'purgeExpired: treats before as the latest expiry, and a later date than now as now',
      SCRIPTS.aboutExpiry,
    ],
  },
  {
    defect: 'lists expired rows in order of creation',
    createStore: overStore((store) => ({
      async listExpired(input) {
        const rows = await store.listExpired(input)
        return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
      },
    })),
    rejectedBy: [
      'listExpired: returns expired rows, earliest expiry first, and changes nothing',
      SCRIPTS.aboutExpiry,
    ],
  },
  {
    defect: 'pages through expired rows by expiry only',
    createStore: overDriver((driver) => ({
      listExpired: (query) =>
        driver.listExpired({
          ...query,
          after: query.after && { ...query.after, id: 'ffffffff-ffff-7fff-bfff-ffffffffffff' },
        }),
    })),
    rejectedBy: [
      'listExpired: pages through rows with the same expiry, even if the previous row is gone',
      SCRIPTS.aboutExpiry,
    ],
  },
  {
    defect: 'lists rows with the expiry of the previous item, even if before is earlier',
    createStore: overDriver((driver) => ({
      listExpired: ({ before, after, ...query }) =>
        driver.listExpired({
          ...query,
          before: after && after.expiresAt > before ? after.expiresAt : before,
          after,
        }),
    })),
    rejectedBy: ['listExpired: returns nothing after an item that expires later than before'],
  },
  {
    defect: 'lists the expired rows of all scopes',
    createStore: overDriver((driver) => ({
      listExpired: (query) => driver.listExpired({ ...query, scope: null }),
    })),
    rejectedBy: ['listExpired: returns only rows of the given scope', SCRIPTS.aboutExpiry],
  },
  {
    defect: 'purges rows a millisecond early',
    createStore: overDriver((driver) => ({
      purgeExpired: (command) =>
        driver.purgeExpired({ ...command, before: new Date(command.before.getTime() + 1) }),
    })),
    rejectedBy: [
      'purgeExpired: removes only rows that are still pending and have expired',
      SCRIPTS.aboutExpiry,
    ],
  },
  {
    defect: 'purges the expired rows of all scopes',
    createStore: overDriver((driver) => ({
      purgeExpired: (command) => driver.purgeExpired({ ...command, scope: null }),
    })),
    rejectedBy: ['purgeExpired: removes only rows of the given scope', SCRIPTS.aboutExpiry],
  },
  {
    defect: 'purges the object along with its expired replacement',
    createStore: overDriver((driver) => ({
      async purgeExpired(command) {
        const result = await driver.purgeExpired(command)
        for (const row of result.rows)
          await driver.remove({ ...row, attemptId: null, mode: 'soft', now: command.now })
        return result
      },
    })),
    rejectedBy: [
      'purgeExpired: removes an expired replacement, and keeps the object it would have replaced',
      SCRIPTS.aboutExpiry,
    ],
  },
  {
    defect: 'ignores the limit of purgeExpired',
    createStore: overDriver((driver) => ({
      purgeExpired: (command) => driver.purgeExpired({ ...command, limit: 1000 }),
    })),
    rejectedBy: [
      'purgeExpired: removes at most the given number of rows, earliest expiry first',
      SCRIPTS.aboutExpiry,
    ],
  },
  {
    defect: 'returns purged rows latest expiry first',
    createStore: overStore((store) => ({
      purgeExpired: async (input) => (await store.purgeExpired(input)).reverse(),
    })),
    rejectedBy: ['purgeExpired: removes expired rows and returns them unchanged, earliest expiry first'],
  },
  {
    defect: 'lists an expired row even after the clock was set back',
    createStore: overDriver((driver) => {
      let latest = new Date(0)
      return {
        listExpired(query) {
          if (query.before > latest) latest = query.before
          return driver.listExpired({ ...query, before: query.scope === null ? latest : query.before })
        },
      }
    }),
    rejectedBy: ['listExpired: includes a row from the millisecond in which it expires'],
  },
  {
    defect: 'sorts rows with the same expiry by key',
    createStore: overStore((store) => ({
      async listExpired(input) {
        const rows = await store.listExpired(input)
        return rows.sort((a, b) => Number(a.expiresAt) - Number(b.expiresAt) || (a.key < b.key ? -1 : 1))
      },
    })),
    rejectedBy: ['listExpired: sorts rows with the same expiry by id'],
  },
  {
    defect: 'lists 50 expired rows by default',
    createStore: overStore((store) => ({
      listExpired: (input) => store.listExpired({ ...input, limit: input?.limit ?? 50 }),
    })),
    rejectedBy: ['listExpired: returns 100 rows by default'],
  },
  {
    defect: 'hides expired replacements',
    createStore: overStore((store) => ({
      async listExpired(input) {
        const rows = await store.listExpired(input)
        const actives = await Promise.all(rows.map((row) => store.findActive(row)))
        return rows.filter((_, index) => actives[index] === null)
      },
    })),
    rejectedBy: ['listExpired: includes expired replacements, but no active rows'],
  },
  {
    defect: 'needs more than a position to list the next expired rows',
    createStore: overStore((store) => ({
      listExpired: (input) =>
        store.listExpired(input?.after && !('scope' in input.after) ? { ...input, after: null } : input),
    })),
    rejectedBy: ['listExpired: returns the page after the given item'],
  },
  {
    defect: 'keeps a purged key for its scope',
    createStore: overStore((store) => {
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
    rejectedBy: ['purgeExpired: frees the key for any scope'],
  },
  {
    defect: 'purges 50 rows by default',
    createStore: overStore((store) => ({
      purgeExpired: (input) => store.purgeExpired({ ...input, limit: input?.limit ?? 50 }),
    })),
    rejectedBy: ['purgeExpired: removes 100 rows by default'],
  },
]

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
