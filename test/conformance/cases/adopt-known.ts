import { holds, refused, same, sameFields } from '../assertions.js'
import { HOUR, MINUTE } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { NO_USAGE, idsOf } from '../given.js'

const KNOWN_AS_LEFTOVER = { object: null, known: true }

export const knownBytesCases: CaseGroup = {
  title: 'adopt of known bytes',
  cases: {
    'returns the live row with the storage key, and changes nothing': async (given) => {
      const { store, scope, otherScope } = given
      const active = await given.activate({ key: 'a', storageKey: 'active', scope: otherScope })
      const pending = await given.reserve({ key: 'b', storageKey: 'pending' })
      same(await given.adopt({ storageKey: 'active' }), { object: active, known: true })
      same(await given.adopt({ storageKey: 'pending' }), { object: pending, known: true })
      same(await given.adopt({ key: 'b', storageKey: 'pending' }), { object: pending, known: true })
      same((await store.listByScope({ scope })).objects, [pending], 'rows of the scope')
      same((await store.listByScope({ scope: otherScope })).objects, [active], 'rows of the other scope')
      same(await given.leftovers(), [], 'leftovers')
    },

    'finds a row without a storage key by its key': async (given) => {
      const active = await given.activate({ key: 'a' })
      const pending = await given.reserve({ key: 'b', scope: given.otherScope })
      same(await given.adopt({ storageKey: 'a' }), { object: active, known: true })
      same(await given.adopt({ storageKey: 'b' }), { object: pending, known: true })
    },

    'ignores the key of a row that has a storage key': async (given) => {
      await given.activate({ key: 'a', storageKey: 'b' })
      sameFields(await given.adopted({ storageKey: 'a' }), { storageKey: 'a' })
    },

    'returns null for a leftover': async (given) => {
      const { store, at, scope } = given
      await given.reserve({ key: 'a', storageKey: 'stored', uploadId: 'upload' })
      await store.release({ ...at, key: 'a' })
      await given.reserve({ key: 'b', uploadId: 'upload' })
      await store.release({ ...at, key: 'b' })
      same(await given.adopt({ storageKey: 'stored' }), KNOWN_AS_LEFTOVER, 'by its storage key')
      same(await given.adopt({ storageKey: 'b' }), KNOWN_AS_LEFTOVER, 'by its key')
      sameFields(await given.adopted({ storageKey: 'a' }), { storageKey: 'a' })
      same((await given.leftovers()).length, 2, 'leftovers')
      same(await store.countByScope(scope), 1, 'rows of the scope')
    },

    'adopts the bytes of history once their leftover is forgotten': async (given) => {
      const { store } = given
      const { attemptId } = await given.history({ key: 'a', storageKey: 'stored' })
      same(await given.adopt({ storageKey: 'stored' }), KNOWN_AS_LEFTOVER, 'with a leftover')
      await store.forgetLeftover({ attemptId })
      sameFields(await given.adopted({ storageKey: 'stored' }), { storageKey: 'stored' })
    },

    'looks only in the bucket of the bytes': async (given) => {
      const { store } = given
      await given.activate({ bucket: 'another', storageKey: 'stored' })
      await given.reserve({ bucket: 'another', key: 'a', storageKey: 'ended' })
      await store.release({ bucket: 'another', key: 'a' })
      sameFields(await given.adopted({ key: 'b', storageKey: 'stored' }), { storageKey: 'stored' })
      sameFields(await given.adopted({ key: 'c', storageKey: 'ended' }), { storageKey: 'ended' })
    },

    'returns an active row before a pending one, then the one with the lowest key in byte order': async (
      given,
    ) => {
      const names = { storageKey: 'stored' }
      const pending = await given.reserve({ key: 'a', ...names })
      await given.reserve({ key: 'b', ...names })
      same(await given.adopt(names), { object: pending, known: true }, 'of two pending rows')
      await given.activate({ key: '\u{10000}', ...names })
      const active = await given.activate({ key: '\uffff', ...names })
      same(await given.adopt(names), { object: active, known: true }, 'of all rows')
    },

    'returns a live row before a leftover': async (given) => {
      const { store, at } = given
      await given.reserve({ key: 'a', storageKey: 'stored' })
      const active = await given.activate({ key: 'b', storageKey: 'stored' })
      await store.release({ ...at, key: 'a' })
      same(await given.adopt({ storageKey: 'stored' }), { object: active, known: true })
    },

    'is not refused, even if another object has the key': async (given) => {
      const { otherScope } = given
      const active = await given.activate({ storageKey: 'stored', scope: otherScope })
      const pending = await given.reserve({ key: 'a', storageKey: 'pending', scope: otherScope })
      same(await given.adopt({ storageKey: 'stored' }), { object: active, known: true })
      same(await given.adopt({ key: 'a', storageKey: 'stored' }), { object: active, known: true })
      same(await given.adopt({ storageKey: 'pending' }), { object: pending, known: true })
    },
  },
}

export const adoptConflictCases: CaseGroup = {
  title: 'adopt at a key in use',
  cases: {
    'is a KEY_CONFLICT if another object has the key': async (given) => {
      const { store, at, otherScope } = given
      const own = await given.activate({ storageKey: 'own' })
      await refused(() => given.adopt(), 'KEY_CONFLICT')
      const foreign = await given.activate({ key: 'a', scope: otherScope, storageKey: 'foreign' })
      await refused(() => given.adopt({ key: 'a' }), 'KEY_CONFLICT')
      const unnamed = await given.activate({ key: 'b', scope: otherScope })
      await refused(() => given.adopt({ key: 'b' }), 'KEY_CONFLICT')
      same(await store.findActive(at), own, 'the own row')
      for (const row of [foreign, unnamed]) same(await store.findActive(row), row, 'the foreign row')
    },

    'is a KEY_CONFLICT if an upload is in progress there, of any scope': async (given) => {
      const { store, clock, otherScope } = given
      const own = await given.reserve({ expiresAt: clock.in(1) })
      const foreign = await given.reserve({ key: 'a', scope: otherScope })
      await refused(() => given.adopt(), 'KEY_CONFLICT')
      await refused(() => given.adopt({ key: 'a' }), 'KEY_CONFLICT')
      for (const row of [own, foreign]) same(await store.find(row), row, 'the pending row')
      clock.advance(1)
      sameFields(await given.adopted(), { storageKey: 'adopted' })
    },

    'ends an upload that has expired, of any scope': async (given) => {
      const { store, clock, at, scope, otherScope } = given
      const lapsed = [
        await given.reserve({ storageKey: 'own' }),
        await given.reserve({ key: 'a', scope: otherScope, storageKey: 'foreign', uploadId: 'upload' }),
      ]
      clock.advance(2 * HOUR)
      await given.adopted({ storageKey: 'first' })
      await given.adopted({ key: 'a', storageKey: 'second' })
      const leftovers = await given.leftovers()
      same(
        leftovers.map(({ attemptId, since }) => ({ attemptId, since })),
        idsOf(lapsed)
          .sort()
          .map((attemptId) => ({ attemptId, since: clock.now() })),
        'leftovers',
      )
      const scopes = leftovers.map((each) => each.scope)
      same(scopes.sort(), [scope, otherScope].sort(), 'scopes of the leftovers')
      same(await store.getScopeUsage(scope), { ...NO_USAGE, bytes: 20, files: 2 }, 'usage')
      same(await store.getScopeUsage(otherScope), NO_USAGE, 'usage of the other scope')
      for (const each of [scope, otherScope]) {
        same(await store.countByScope(each, 'pending'), 0, `pending rows of ${each}`)
      }
      same(await store.findPending(at), null, 'the pending row')
      same(await store.listExpired(), [], 'expired reservations')
    },

    'gives the key of history to a new object': async (given) => {
      const { store, at, scope } = given
      const deleted = await given.history({ scope: given.otherScope })
      const row = await given.adopted()
      sameFields(row, { scope })
      holds(row.id !== deleted.id, 'the new object has the id of the history')
      same(await store.find(at), row, 'the result of find')
    },
  },
}

export const receivingCases: CaseGroup = {
  title: 'adopt for an object without a storage key',
  cases: {
    'sets only its storage key and updatedAt': async (given) => {
      const { store, clock, at, scope } = given
      const fields = { filename: 'a', contentType: 'b', metadata: { a: '1' }, route: 'r' }
      const active = await given.activate(fields, { eTag: 'etag' })
      const usage = await store.getScopeUsage(scope)
      clock.advance(MINUTE)
      const other = { filename: 'x', contentType: 'y', metadata: {}, route: 'z', eTag: 'w', size: 99 }
      const row = await given.adopted(other)
      same(row, { ...active, storageKey: 'adopted', updatedAt: clock.now() })
      same(await store.findActive(at), row, 'the active row')
      same(await store.getScopeUsage(scope), usage, 'usage')
      same(await store.countByScope(scope), 1, 'rows of the scope')
    },

    'adds nothing to the sum of the scope, however large that is': async (given) => {
      const { store, scope } = given
      await given.activate()
      const { bytes } = await store.getScopeUsage(scope)
      await given.reserve({ key: 'another', declaredSize: Number.MAX_SAFE_INTEGER - bytes })
      sameFields(await given.adopted({ size: 99 }), { storageKey: 'adopted', size: bytes })
    },

    'works for bytes under its own key': async (given) => {
      await given.activate({ key: 'a' })
      const row = await given.adopted({ key: 'a', storageKey: 'a' })
      sameFields(row, { storageKey: 'a' })
      same(await given.adopt({ key: 'a', storageKey: 'a' }), { object: row, known: true }, 'a repeat')
    },

    'changes nothing if something names the bytes': async (given) => {
      const { store, at } = given
      const active = await given.activate()
      const other = await given.activate({ key: 'a', storageKey: 'stored' })
      await given.reserve({ key: 'b', storageKey: 'ended' })
      await store.release({ ...at, key: 'b' })
      same(await given.adopt({ storageKey: 'stored' }), { object: other, known: true })
      same(await given.adopt({ storageKey: 'ended' }), KNOWN_AS_LEFTOVER)
      same(await store.findActive(at), active, 'the active row')
    },

    'is a KEY_CONFLICT while a replacement is in progress, and ends one that has expired': async (given) => {
      const { store, clock, at, scope } = given
      const active = await given.activate()
      const { attemptId } = await given.reserve({ declaredSize: 50, storageKey: 'replacement' })
      await refused(() => given.adopt(), 'KEY_CONFLICT')
      same(await store.findActive(at), active, 'the active row')
      clock.advance(2 * HOUR)
      sameFields(await given.adopted(), { id: active.id, storageKey: 'adopted' })
      same(await store.findPending(at), null, 'the replacement')
      same(await store.getScopeUsage(scope), { ...NO_USAGE, bytes: 10, files: 1 }, 'usage')
      sameFields((await given.leftovers())[0] ?? null, { attemptId, storageKey: 'replacement' })
    },

    'records its leftover with the time until which its upload could write': async (given) => {
      const { store, clock, at } = given
      const { attemptId, expiresAt } = await given.reserve({ expiresAt: clock.in(2 * HOUR) })
      await given.confirm()
      await given.adopted()
      await store.remove(at)
      const times = { since: clock.now(), writableUntil: expiresAt! }
      same(await given.leftovers(), [
        given.leftover({ attemptId, storageKey: 'adopted', uploadId: null, ...times }),
      ])
    },
  },
}
