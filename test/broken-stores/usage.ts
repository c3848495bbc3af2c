import { StorageError, type ScopeUsage, type StorageObjectStore } from '../../src/adapter.js'
import {
  SCRIPTS,
  overStore,
  storeResult,
  storeCall,
  driverResult,
  type Mutants,
  type Mutant,
  referenceOf,
} from './mutant.js'

export const usageMutants: Mutants = {
  'counts the whole size of a pending overwrite as reserved': [
    storeResult('getScopeUsage', async (usage, scope, store) => {
      const { objects } = await store.listByScope({ scope, status: 'pending', limit: 1000 })
      return { ...usage, reservedBytes: objects.reduce((sum, { declaredSize }) => sum + declaredSize!, 0) }
    }),
    'getScopeUsage: counts only the growth of an overwrite as reserved, and no file',
    SCRIPTS.ofAnything,
  ],
  'counts a pending overwrite as a reserved file': [
    storeResult('getScopeUsage', async (usage, scope, store) => ({
      ...usage,
      reservedFiles: await store.countByScope(scope, 'pending'),
    })),
    'getScopeUsage: counts only the growth of an overwrite as reserved, and no file',
    SCRIPTS.ofAnything,
  ],
  'excludes expired reservations from usage': [
    storeResult('getScopeUsage', async (usage, scope, store) => {
      const expired = await store.listExpired({ scope })
      return { ...usage, reservedFiles: usage.reservedFiles - expired.length }
    }),
    'getScopeUsage: counts an expired reservation until it is dropped',
    SCRIPTS.ofAnything,
  ],
  'records the declared size of a confirmed object': [
    storeCall('confirm', async (input, store) => {
      const pending = await store.findPending(referenceOf(input))
      const { size } = input
      const row = await store.confirm({ ...input, size: pending?.declaredSize ?? size })
      return { ...row, size }
    }),
    'getScopeUsage: counts the bytes and files of active objects, over all buckets',
    SCRIPTS.ofAnything,
  ],
  'stores sizes in 32 bits': [
    storeResult('getScopeUsage', (usage) => ({
      ...usage,
      bytes: usage.bytes >>> 0,
      reservedBytes: usage.reservedBytes >>> 0,
    })),
    'records: keeps sizes exactly, from 0 to the largest safe integer',
    SCRIPTS.ofAnything,
  ],
  'allows sums above the largest safe integer': [
    driverResult('reserve', (result, command, driver) => {
      if (result.outcome !== 'sum') return result
      return driver.reserve({ ...command, declaredSize: 0 })
    }),
    'getScopeUsage: refuses a reserve that would take the sum above the largest safe integer, and changes nothing',
    SCRIPTS.ofAnything,
  ],
  'refuses the usage of an unknown scope': [
    overStore((store) => {
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
    'getScopeUsage: returns zeros for an unknown scope',
  ],
  'counts the objects of one bucket': [
    storeResult('getScopeUsage', async (usage, scope, store) => {
      const { objects } = await store.listByScope({ scope, status: 'active', limit: 1000 })
      const elsewhere = objects.filter(({ bucket }) => bucket === 'other bucket')
      return { ...usage, files: usage.files - elsewhere.length }
    }),
    'getScopeUsage: counts the bytes and files of active objects, over all buckets',
  ],
  'counts only the largest pending row as reserved': [
    storeResult('getScopeUsage', async (usage, scope, store) => {
      const { objects } = await store.listByScope({ scope, limit: 1000 })
      if (objects.some(({ status }) => status === 'active')) return usage
      return { ...usage, reservedBytes: Math.max(0, ...objects.map(({ declaredSize }) => declaredSize!)) }
    }),
    'getScopeUsage: counts the declared sizes of pending rows as reserved',
  ],
  'counts a displaced attempt as reserved': [
    overUsage((store, add) => ({
      async reserve(input) {
        const pending = await store.findPending(referenceOf(input))
        const row = await store.reserve(input)
        const isDisplaced = pending !== null && pending.id !== row.id && pending.scope === row.scope
        if (isDisplaced && !(await store.findActive(referenceOf(input))))
          add(row.scope, 'reservedBytes', pending.declaredSize!)
        return row
      },
    })),
    'getScopeUsage: counts only the latest attempt of a key',
  ],
  'counts a replaced object and its replacement': [
    overUsage((store, add) => ({
      async confirm(input) {
        const active = await store.findActive(referenceOf(input))
        const row = await store.confirm(input)
        if (active && active.attemptId !== row.attemptId) add(row.scope, 'bytes', active.size!)
        return row
      },
    })),
    'getScopeUsage: counts a confirmed overwrite once, with its own size',
  ],
  'counts a removed replacement as reserved': [
    overUsage((store, add) => ({
      async remove(input) {
        const pending = await store.findPending(referenceOf(input))
        const row = await store.remove(input)
        if (row && pending && row.id !== pending.id) add(row.scope, 'reservedBytes', pending.declaredSize!)
        return row
      },
    })),
    'getScopeUsage: frees the usage of released attempts, and of removed objects and their replacements',
  ],
  'counts only the growth of a reserve over a removed object': [
    overUsage((store, add) => ({
      async reserve(input) {
        const newest = await store.find(referenceOf(input))
        const row = await store.reserve(input)
        if (newest?.status === 'deleted') add(row.scope, 'reservedBytes', -newest.size!)
        return row
      },
    })),
    'getScopeUsage: counts the whole declared size of a reserve after the object was removed',
  ],
  'counts a reservation that another scope took over': [
    overUsage((store, add) => ({
      async reserve(input) {
        const pending = await store.findPending({ bucket: input.bucket, key: input.key })
        const row = await store.reserve(input)
        if (pending && pending.scope !== row.scope) add(pending.scope, 'reservedFiles', 1)
        return row
      },
    })),
    'getScopeUsage: frees the usage of a scope whose expired reservation is taken over',
  ],
  'sums at most 20 files': [
    storeResult('getScopeUsage', (usage) => ({ ...usage, files: Math.min(usage.files, 20) })),
    'getScopeUsage: is the sum over many files',
  ],
  'shrinks a confirm that would take the sum above the largest safe integer': [
    driverResult('confirm', (result, command, driver) =>
      result.outcome === 'sum' ? driver.confirm({ ...command, size: 0 }) : result,
    ),
    'getScopeUsage: refuses a confirm that would take the sum above the largest safe integer, and changes nothing',
  ],
}

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
