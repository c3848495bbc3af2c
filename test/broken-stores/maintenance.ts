import { gap, storeCall, type Mutants } from './mutant.js'

export const maintenanceMutants: Mutants = {
  "reports a usage difference that doesn't exist": [
    storeCall('checkUsage', async (scope, store) => {
      if (scope != null) return store.checkUsage(scope)
      const { objects } = await store.listByScope({ scope: 'alice' })
      const usage = await store.getScopeUsage('alice')
      return objects.length > 1
        ? [{ scope: 'alice', recorded: usage, actual: usage }]
        : store.checkUsage(scope)
    }),
    'maintenance: checkUsage and repairUsage find nothing wrong after every kind of write',
  ],
  'returns a value from ping': [
    storeCall('ping', async () => 'pong' as unknown as undefined),
    'maintenance: ping resolves',
  ],
  'reports something missing although it is migrated': [
    storeCall('verify', async () => ['the index of routes']),
    'maintenance: verify finds nothing missing',
  ],
  'reports a migration each time': [
    storeCall('migrate', async () => ({ from: 0, to: 1 })),
    'maintenance: migrate can be repeated, also concurrently, and keeps all rows',
  ],
  'reports a usage difference if a write runs during the check': [
    storeCall('checkUsage', async (scope, store) => {
      const recorded = await store.getScopeUsage('alice')
      await gap()
      const actual = await store.getScopeUsage('alice')
      const isSame = JSON.stringify(recorded) === JSON.stringify(actual)
      return isSame ? store.checkUsage(scope) : [{ scope: 'alice', recorded, actual }]
    }),
    'maintenance: checkUsage and repairUsage are correct during concurrent writes',
  ],
}
