import { refused, same, sameFields } from '../assertions.js'
import { HOUR } from '../clock.js'
import type { CaseGroup } from '../given.js'

export const quotaCases: CaseGroup = {
  title: 'quota',
  cases: {
    'allows exactly maxBytes, and not one byte more': async (given) => {
      await given.activate({ key: 'a', declaredSize: 4 })
      const refusal = { limit: 'maxBytes', max: 10, used: 4, reserved: 0, requested: 7 }
      const over = { key: 'b', declaredSize: 7, quota: { maxBytes: 10 } }
      await refused(() => given.reserve(over), 'QUOTA_EXCEEDED', refusal)
      sameFields(await given.reserve({ ...over, declaredSize: 6 }), { declaredSize: 6 })
    },

    'allows exactly maxFiles, and not one file more': async (given) => {
      const quota = { maxFiles: 2 }
      await given.activate({ key: 'a', quota })
      await given.reserve({ key: 'b', quota })
      const refusal = { limit: 'maxFiles', max: 2, used: 2, reserved: 1, requested: 1 }
      await refused(() => given.reserve({ key: 'c', quota }), 'QUOTA_EXCEEDED', refusal)
    },

    'names maxBytes first if both limits are exceeded': async (given) => {
      await given.activate({ key: 'a', declaredSize: 4 })
      const refusal = { limit: 'maxBytes', max: 3, used: 4, reserved: 0, requested: 5 }
      const over = { key: 'b', declaredSize: 5, quota: { maxBytes: 3, maxFiles: 1 } }
      await refused(() => given.reserve(over), 'QUOTA_EXCEEDED', refusal)
    },

    'checks the sum of stored and reserved bytes': async (given) => {
      await given.activate({ key: 'a', declaredSize: 4 })
      await given.reserve({ key: 'b', declaredSize: 3 })
      const refusal = { limit: 'maxBytes', max: 9, used: 7, reserved: 3, requested: 3 }
      const over = { key: 'c', declaredSize: 3, quota: { maxBytes: 9 } }
      await refused(() => given.reserve(over), 'QUOTA_EXCEEDED', refusal)
    },

    'counts expired reservations until they are dropped': async (given) => {
      const { store, clock } = given
      await given.reserve({ key: 'a', declaredSize: 4 })
      clock.advance(2 * HOUR)
      const over = { key: 'b', declaredSize: 7, quota: { maxBytes: 10 } }
      await refused(() => given.reserve(over), 'QUOTA_EXCEEDED')
      await store.purgeExpired()
      await given.reserve({ ...over, expiresAt: clock.in(HOUR) })
    },

    'checks only the growth of an overwrite': async (given) => {
      await given.activate({ declaredSize: 8 })
      const quota = { maxBytes: 10, maxFiles: 1 }
      sameFields(await given.reserve({ declaredSize: 10, quota }), { declaredSize: 10 })
      const refusal = { limit: 'maxBytes', max: 10, used: 10, reserved: 2, requested: 1 }
      await refused(() => given.reserve({ declaredSize: 11, quota }), 'QUOTA_EXCEEDED', refusal)
    },

    'checks only the growth of a new attempt over the one it displaces': async (given) => {
      const quota = { maxBytes: 10, maxFiles: 1 }
      await given.reserve({ declaredSize: 8, quota })
      await given.reserve({ declaredSize: 10, quota })
      const refusal = { limit: 'maxBytes', max: 10, used: 10, reserved: 10, requested: 2 }
      await refused(() => given.reserve({ declaredSize: 12, quota }), 'QUOTA_EXCEEDED', refusal)
      sameFields(await given.store.find(given.at), { declaredSize: 10 })
    },

    'allows a scope over its quota to replace a file with one that is not larger': async (given) => {
      await given.activate({ key: 'a', declaredSize: 50 })
      await given.activate({ declaredSize: 50 })
      const quota = { maxBytes: 10, maxFiles: 1 }
      await given.reserve({ declaredSize: 50, quota })
      await given.reserve({ declaredSize: 49, quota })
      const refusal = { limit: 'maxBytes', max: 10, used: 100, reserved: 0, requested: 1 }
      await refused(() => given.reserve({ declaredSize: 51, quota }), 'QUOTA_EXCEEDED', refusal)
    },

    'allows an empty file if only maxBytes is exceeded, but not if maxFiles is': async (given) => {
      await given.activate({ key: 'a', declaredSize: 50 })
      await given.reserve({ key: 'b', declaredSize: 0, quota: { maxBytes: 10 } })
      const refusal = { limit: 'maxFiles', max: 1, used: 2, reserved: 1, requested: 1 }
      const over = { key: 'c', declaredSize: 0, quota: { maxFiles: 1 } }
      await refused(() => given.reserve(over), 'QUOTA_EXCEEDED', refusal)
    },

    'allows only changes without growth if the limits are 0': async (given) => {
      const nothing = { maxBytes: 0, maxFiles: 0 }
      await refused(() => given.reserve({ declaredSize: 1, quota: nothing }), 'QUOTA_EXCEEDED')
      const refusal = { limit: 'maxFiles', max: 0, used: 0, reserved: 0, requested: 1 }
      await refused(() => given.reserve({ declaredSize: 0, quota: nothing }), 'QUOTA_EXCEEDED', refusal)
      await given.reserve({ declaredSize: 0, quota: { maxBytes: 0 } })
    },

    'treats an absent limit as unlimited': async (given) => {
      const quotas = [null, {}, { maxBytes: null, maxFiles: null }, { maxFiles: 9 }, { maxBytes: 1e9 }]
      for (const [index, quota] of quotas.entries()) {
        const row = await given.reserve({ key: `key ${index}`, declaredSize: 1000, quota })
        sameFields(row, { status: 'pending' })
      }
    },

    'ignores the usage of other scopes': async (given) => {
      await given.activate({ key: 'a', scope: given.otherScope, declaredSize: 100 })
      await given.reserve({ declaredSize: 10, quota: { maxBytes: 10, maxFiles: 1 } })
    },

    'counts a key taken over from another scope as a new file': async (given) => {
      const { clock, otherScope } = given
      await given.reserve({ declaredSize: 10 })
      clock.advance(2 * HOUR)
      const refusal = { limit: 'maxFiles', max: 0, used: 0, reserved: 0, requested: 1 }
      const over = { scope: otherScope, declaredSize: 1, quota: { maxFiles: 0 } }
      await refused(() => given.reserve(over), 'QUOTA_EXCEEDED', refusal)
    },

    'changes nothing if it refuses': async (given) => {
      const { store, at, scope } = given
      await given.activate({ declaredSize: 5, storageKey: 'stored' })
      const pending = await given.reserve({ declaredSize: 6, storageKey: 'stored too' })
      const usage = await store.getScopeUsage(scope)
      await refused(() => given.reserve({ declaredSize: 9, quota: { maxBytes: 8 } }), 'QUOTA_EXCEEDED')
      same(await store.findPending(at), pending, 'the pending row')
      same(await store.getScopeUsage(scope), usage, 'usage')
      same(await given.leftovers(), [], 'leftovers')
    },

    'is checked again by confirm, for growth beyond the reservation': async (given) => {
      const { store, at, scope } = given
      await given.activate({ key: 'a', declaredSize: 4 })
      const pending = await given.reserve({ declaredSize: 6, storageKey: 'stored' })
      const usage = await store.getScopeUsage(scope)
      const refusal = { limit: 'maxBytes', max: 11, used: 10, reserved: 6, requested: 2 }
      await refused(() => given.confirm({ size: 8, quota: { maxBytes: 11 } }), 'QUOTA_EXCEEDED', refusal)
      same(await store.find(at), pending, 'the reservation')
      same(await store.getScopeUsage(scope), usage, 'usage')
      sameFields(await given.confirm({ size: 7, quota: { maxBytes: 11 } }), { size: 7 })
    },

    'allows a confirm within its reservation': async (given) => {
      await given.activate({ key: 'a', declaredSize: 40 })
      await given.reserve({ declaredSize: 6 })
      sameFields(await given.confirm({ size: 6, quota: { maxBytes: 0, maxFiles: 0 } }), { size: 6 })
    },

    'allows the confirm of a replacement that is not larger than the object': async (given) => {
      await given.activate({ declaredSize: 40 })
      await given.reserve({ declaredSize: 6 })
      sameFields(await given.confirm({ size: 40, quota: { maxBytes: 0, maxFiles: 0 } }), { size: 40 })
    },

    'checks the growth of a replacement beyond its reservation': async (given) => {
      await given.activate({ declaredSize: 40 })
      await given.reserve({ declaredSize: 45 })
      const refusal = { limit: 'maxBytes', max: 45, used: 45, reserved: 5, requested: 1 }
      await refused(() => given.confirm({ size: 46, quota: { maxBytes: 45 } }), 'QUOTA_EXCEEDED', refusal)
      sameFields(await given.store.findActive(given.at), { size: 40 })
      sameFields(await given.confirm({ size: 45, quota: { maxBytes: 45 } }), { size: 45 })
    },

    'never refuses a confirm for the number of files': async (given) => {
      await given.activate({ key: 'a' })
      await given.reserve({ declaredSize: 6 })
      sameFields(await given.confirm({ size: 100, quota: { maxFiles: 0 } }), { size: 100 })
    },
  },
}
