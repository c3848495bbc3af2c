import { refusedField, same } from '../assertions.js'
import { HOUR } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { NO_USAGE, allOf, numbers } from '../given.js'

export const usageCases: CaseGroup = {
  title: 'getScopeUsage',
  cases: {
    'returns zeros for an unknown scope': async ({ store }) => {
      same(await store.getScopeUsage('unknown'), NO_USAGE)
    },

    'counts the bytes and files of active objects, over all buckets': async (given) => {
      await given.activate({ key: 'a', declaredSize: 3 })
      await given.activate({ key: 'b', declaredSize: 5 }, { size: 6 })
      await given.activate({ bucket: 'other bucket', key: 'a', declaredSize: 7 })
      await given.activate({ scope: given.otherScope, key: 'c', declaredSize: 100 })
      same(await given.store.getScopeUsage(given.scope), { ...NO_USAGE, bytes: 16, files: 3 })
    },

    'counts the declared sizes of pending rows as reserved': async (given) => {
      await given.reserve({ key: 'a', declaredSize: 3 })
      await given.reserve({ key: 'b', declaredSize: 5 })
      same(await given.store.getScopeUsage(given.scope), { ...NO_USAGE, reservedBytes: 8, reservedFiles: 2 })
    },

    'counts only the growth of an overwrite as reserved, and no file': async (given) => {
      await given.activate({ declaredSize: 10 })
      await given.reserve({ declaredSize: 14 })
      same(await given.store.getScopeUsage(given.scope), {
        ...NO_USAGE,
        bytes: 10,
        files: 1,
        reservedBytes: 4,
      })
    },

    'counts nothing as reserved for an overwrite that is not larger': async (given) => {
      await given.activate({ declaredSize: 10 })
      for (const declaredSize of [9, 10, 0]) {
        await given.reserve({ declaredSize })
        same(await given.store.getScopeUsage(given.scope), { ...NO_USAGE, bytes: 10, files: 1 })
      }
    },

    'counts a confirmed overwrite once, with its own size': async (given) => {
      await given.activate({ declaredSize: 10 })
      await given.activate({ declaredSize: 4 })
      same(await given.store.getScopeUsage(given.scope), { ...NO_USAGE, bytes: 4, files: 1 })
    },

    'counts only the latest attempt of a key': async (given) => {
      await given.reserve({ declaredSize: 10 })
      await given.reserve({ declaredSize: 3 })
      same(await given.store.getScopeUsage(given.scope), { ...NO_USAGE, reservedBytes: 3, reservedFiles: 1 })
    },

    'counts an expired reservation until it is dropped': async (given) => {
      const { store, clock, scope } = given
      await given.reserve({ declaredSize: 10 })
      clock.advance(2 * HOUR)
      same(await store.getScopeUsage(scope), { ...NO_USAGE, reservedBytes: 10, reservedFiles: 1 })
      await store.purgeExpired()
      same(await store.getScopeUsage(scope), NO_USAGE)
    },

    'frees the usage of released attempts, and of removed objects and their replacements': async (given) => {
      const { store, scope, at } = given
      await given.reserve({ declaredSize: 10 })
      await store.release(at)
      same(await store.getScopeUsage(scope), NO_USAGE, 'usage after release')
      for (const mode of ['soft', 'hard'] as const) {
        await given.activate({ declaredSize: 10 })
        await given.reserve({ declaredSize: 20 })
        await store.remove({ ...at, mode })
        same(await store.getScopeUsage(scope), NO_USAGE, `usage after a ${mode} remove`)
      }
    },

    'counts the whole declared size of a reserve after the object was removed': async (given) => {
      const { store, scope, at } = given
      await given.activate({ declaredSize: 10 })
      await store.remove(at)
      await given.reserve({ declaredSize: 14 })
      same(await store.getScopeUsage(scope), { ...NO_USAGE, reservedBytes: 14, reservedFiles: 1 })
    },

    'frees the usage of a scope whose expired reservation is taken over': async (given) => {
      const { store, clock, scope, otherScope } = given
      await given.reserve({ declaredSize: 10 })
      clock.advance(2 * HOUR)
      await given.reserve({ scope: otherScope, declaredSize: 3 })
      same(await store.getScopeUsage(scope), NO_USAGE, 'usage of the previous owner')
      const usage = { ...NO_USAGE, reservedBytes: 3, reservedFiles: 1 }
      same(await store.getScopeUsage(otherScope), usage, 'usage of the new owner')
    },

    'is exact up to the largest safe integer': async (given) => {
      const { store, scope } = given
      const half = 2 ** 52
      await given.activate({ key: 'a', declaredSize: half })
      await given.reserve({ key: 'b', declaredSize: half - 2 })
      await given.reserve({ key: 'c', declaredSize: 1 })
      const usage = { ...NO_USAGE, bytes: half, files: 1, reservedBytes: half - 1, reservedFiles: 2 }
      same(await store.getScopeUsage(scope), usage)
    },

    'refuses a reserve that would take the sum above the largest safe integer, and changes nothing': async (
      given,
    ) => {
      const { store, scope } = given
      await given.activate({ key: 'a', declaredSize: Number.MAX_SAFE_INTEGER - 5 })
      await given.reserve({ key: 'b', declaredSize: 3, storageKey: 'stored' })
      const before = await store.getScopeUsage(scope)
      await refusedField(() => given.reserve({ key: 'c', declaredSize: 3 }), 'declaredSize')
      await refusedField(() => given.reserve({ key: 'b', declaredSize: 6 }), 'declaredSize')
      same(await store.getScopeUsage(scope), before)
      same(await given.leftovers(), [], 'leftovers')
      await given.reserve({ key: 'b', declaredSize: 5 })
      await given.reserve({ key: 'a', declaredSize: 1 })
    },

    'refuses a confirm that would take the sum above the largest safe integer, and changes nothing': async (
      given,
    ) => {
      const { store, scope, at } = given
      await given.activate({ key: 'a', declaredSize: Number.MAX_SAFE_INTEGER - 5 })
      const pending = await given.reserve({ declaredSize: 1 })
      const before = await store.getScopeUsage(scope)
      await refusedField(() => given.confirm({ size: 6 }), 'size')
      same(await store.getScopeUsage(scope), before)
      same(await store.find(at), pending, 'the reservation')
      await given.confirm({ size: 5 })
    },

    'is the sum over many files': async (given) => {
      const { store, scope } = given
      await allOf(numbers(40).map((index) => given.activate({ key: `key ${index}`, declaredSize: index })))
      await allOf(numbers(10).map((index) => store.remove({ bucket: 'bucket', key: `key ${index}` })))
      same(await store.getScopeUsage(scope), { ...NO_USAGE, bytes: 780 - 45, files: 30 })
    },
  },
}
