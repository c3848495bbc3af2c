import { gap, overStore, type Mutant } from './mutant.js'

export const maintenanceMutants: readonly Mutant[] = [
  {
    defect: "reports a usage difference that doesn't exist",
    createStore: overStore((store) => ({
      async checkUsage(scope) {
        if (scope != null) return store.checkUsage(scope)
        const { objects } = await store.listByScope({ scope: 'alice' })
        const usage = await store.getScopeUsage('alice')
        return objects.length > 1
          ? [{ scope: 'alice', recorded: usage, actual: usage }]
          : store.checkUsage(scope)
      },
    })),
    rejectedBy: ['maintenance: checkUsage and repairUsage find nothing wrong after every kind of write'],
  },
  {
    defect: 'returns a value from ping',
    createStore: overStore(() => ({ ping: async () => 'pong' as unknown as undefined })),
    rejectedBy: ['maintenance: ping resolves'],
  },
  {
    defect: 'reports something missing although it is migrated',
    createStore: overStore(() => ({ verify: async () => ['the index of routes'] })),
    rejectedBy: ['maintenance: verify finds nothing missing'],
  },
  {
    defect: 'reports a migration each time',
    createStore: overStore(() => ({ migrate: async () => ({ from: 0, to: 1 }) })),
    rejectedBy: ['maintenance: migrate can be repeated, also concurrently, and keeps all rows'],
  },
  {
    defect: 'reports a usage difference if a write runs during the check',
    createStore: overStore((store) => ({
      async checkUsage(scope) {
        const recorded = await store.getScopeUsage('alice')
        await gap()
        const actual = await store.getScopeUsage('alice')
        const isSame = JSON.stringify(recorded) === JSON.stringify(actual)
        return isSame ? store.checkUsage(scope) : [{ scope: 'alice', recorded, actual }]
      },
    })),
    rejectedBy: ['maintenance: checkUsage and repairUsage are correct during concurrent writes'],
  },
]
