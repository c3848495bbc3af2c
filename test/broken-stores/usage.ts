import { StorageError, type ScopeUsage, type StorageObjectStore } from '../../src/adapter.js'
import { SCRIPTS, overDriver, overStore, type Mutant } from './mutant.js'

export const usageMutants: readonly Mutant[] = [
  {
    defect: 'counts the whole size of a pending overwrite as reserved',
    createStore: overStore((store) => ({
      async getScopeUsage(scope) {
        const usage = await store.getScopeUsage(scope)
        const { objects } = await store.listByScope({ scope, status: 'pending', limit: 1000 })
        return { ...usage, reservedBytes: objects.reduce((sum, { declaredSize }) => sum + declaredSize!, 0) }
      },
    })),
    rejectedBy: [
      'getScopeUsage: counts only the growth of an overwrite as reserved, and no file',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'counts a pending overwrite as a reserved file',
    createStore: overStore((store) => ({
      async getScopeUsage(scope) {
        const usage = await store.getScopeUsage(scope)
        return { ...usage, reservedFiles: await store.countByScope(scope, 'pending') }
      },
    })),
    rejectedBy: [
      'getScopeUsage: counts only the growth of an overwrite as reserved, and no file',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'excludes expired reservations from usage',
    createStore: overStore((store) => ({
      async getScopeUsage(scope) {
        const usage = await store.getScopeUsage(scope)
        const expired = await store.listExpired({ scope })
        return { ...usage, reservedFiles: usage.reservedFiles - expired.length }
      },
    })),
    rejectedBy: ['getScopeUsage: counts an expired reservation until it is dropped', SCRIPTS.ofAnything],
  },
  {
    defect: 'records the declared size of a confirmed object',
    createStore: overStore((store) => ({
      async confirm(input) {
        const pending = await store.findPending(input)
        const { size } = input
        const row = await store.confirm({ ...input, size: pending?.declaredSize ?? size })
        return { ...row, size }
      },
    })),
    rejectedBy: [
      'getScopeUsage: counts the bytes and files of active objects, over all buckets',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'stores sizes in 32 bits',
    createStore: overStore((store) => ({
      async getScopeUsage(scope) {
        const usage = await store.getScopeUsage(scope)
        return { ...usage, bytes: usage.bytes >>> 0, reservedBytes: usage.reservedBytes >>> 0 }
      },
    })),
    rejectedBy: ['records: keeps sizes exactly, from 0 to the largest safe integer', SCRIPTS.ofAnything],
  },
  {
    defect: 'allows sums above the largest safe integer',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const result = await driver.reserve(command)
        if (result.outcome !== 'sum') return result
        return driver.reserve({ ...command, declaredSize: 0 })
      },
    })),
    rejectedBy: [
      'getScopeUsage: refuses a reserve that would take the sum above the largest safe integer, and changes nothing',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'refuses the usage of an unknown scope',
    createStore: overStore((store) => {
      const scopes = new Set<string>()
      return {
        async reserve(input) {
          scopes.add(input?.scope)
          return store.reserve(input)
        },
        async getScopeUsage(scope) {
          const usage = await store.getScopeUsage(scope)
          if (!scopes.has(scope)) throw new StorageError('OBJECT_NOT_FOUND')
          return usage
        },
      }
    }),
    rejectedBy: ['getScopeUsage: returns zeros for an unknown scope'],
  },
  {
    defect: 'counts the objects of one bucket',
    createStore: overStore((store) => ({
      async getScopeUsage(scope) {
        const usage = await store.getScopeUsage(scope)
        const { objects } = await store.listByScope({ scope, status: 'active', limit: 1000 })
        const elsewhere = objects.filter(({ bucket }) => bucket === 'other bucket')
        return { ...usage, files: usage.files - elsewhere.length }
      },
    })),
    rejectedBy: ['getScopeUsage: counts the bytes and files of active objects, over all buckets'],
  },
  {
    defect: 'counts only the largest pending row as reserved',
    createStore: overStore((store) => ({
      async getScopeUsage(scope) {
        const usage = await store.getScopeUsage(scope)
        const { objects } = await store.listByScope({ scope, limit: 1000 })
        if (objects.some(({ status }) => status === 'active')) return usage
        return { ...usage, reservedBytes: Math.max(0, ...objects.map(({ declaredSize }) => declaredSize!)) }
      },
    })),
    rejectedBy: ['getScopeUsage: counts the declared sizes of pending rows as reserved'],
  },
  {
    defect: 'counts a displaced attempt as reserved',
    createStore: overUsage((store, add) => ({
      async reserve(input) {
        const pending = await store.findPending(input)
        const row = await store.reserve(input)
        const isDisplaced = pending !== null && pending.id !== row.id && pending.scope === row.scope
        if (isDisplaced && !(await store.findActive(input)))
          add(row.scope, 'reservedBytes', pending.declaredSize!)
        return row
      },
    })),
    rejectedBy: ['getScopeUsage: counts only the latest attempt of a key'],
  },
  {
    defect: 'counts a replaced object and its replacement',
    createStore: overUsage((store, add) => ({
      async confirm(input) {
        const active = await store.findActive(input)
        const row = await store.confirm(input)
        if (active && active.attemptId !== row.attemptId) add(row.scope, 'bytes', active.size!)
        return row
      },
    })),
    rejectedBy: ['getScopeUsage: counts a confirmed overwrite once, with its own size'],
  },
  {
    defect: 'counts a removed replacement as reserved',
    createStore: overUsage((store, add) => ({
      async remove(input) {
        const pending = await store.findPending(input)
        const row = await store.remove(input)
        if (row && pending && row.id !== pending.id) add(row.scope, 'reservedBytes', pending.declaredSize!)
        return row
      },
    })),
    rejectedBy: [
      'getScopeUsage: frees the usage of released attempts, and of removed objects and their replacements',
    ],
  },
  {
    defect: 'counts only the growth of a reserve over a removed object',
    createStore: overUsage((store, add) => ({
      async reserve(input) {
        const newest = await store.find(input)
        const row = await store.reserve(input)
        if (newest?.status === 'deleted') add(row.scope, 'reservedBytes', -newest.size!)
        return row
      },
    })),
    rejectedBy: ['getScopeUsage: counts the whole declared size of a reserve after the object was removed'],
  },
  {
    defect: 'counts a reservation that another scope took over',
    createStore: overUsage((store, add) => ({
      async reserve(input) {
        const pending = await store.findPending({ bucket: input.bucket, key: input.key })
        const row = await store.reserve(input)
        if (pending && pending.scope !== row.scope) add(pending.scope, 'reservedFiles', 1)
        return row
      },
    })),
    rejectedBy: ['getScopeUsage: frees the usage of a scope whose expired reservation is taken over'],
  },
  {
    defect: 'sums at most 20 files',
    createStore: overStore((store) => ({
      async getScopeUsage(scope) {
        const usage = await store.getScopeUsage(scope)
        return { ...usage, files: Math.min(usage.files, 20) }
      },
    })),
    rejectedBy: ['getScopeUsage: is the sum over many files'],
  },
  {
    defect: 'shrinks a confirm that would take the sum above the largest safe integer',
    createStore: overDriver((driver) => ({
      async confirm(command) {
        const result = await driver.confirm(command)
        return result.outcome === 'sum' ? driver.confirm({ ...command, size: 0 }) : result
      },
    })),
    rejectedBy: [
      'getScopeUsage: refuses a confirm that would take the sum above the largest safe integer, and changes nothing',
    ],
  },
]

/** Adds wrong amounts to the usage of scopes. */
function overUsage(
  broken: (
    store: StorageObjectStore,
    add: (scope: string, name: keyof ScopeUsage, amount: number) => void,
  ) => Partial<StorageObjectStore>,
): Mutant['createStore'] {
  return overStore((store) => {
    const wrong: { scope: string; name: keyof ScopeUsage; amount: number }[] = []
    return {
      ...broken(store, (scope, name, amount) => void wrong.push({ scope, name, amount })),
      async getScopeUsage(scope) {
        const usage = { ...(await store.getScopeUsage(scope)) } as Record<keyof ScopeUsage, number>
        for (const each of wrong) if (each.scope === scope) usage[each.name] += each.amount
        return usage
      },
    }
  })
}
