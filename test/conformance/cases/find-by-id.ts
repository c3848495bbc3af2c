import { same, sameFields } from '../assertions.js'
import { HOUR } from '../clock.js'
import type { CaseGroup } from '../given.js'

export const findByIdCases: CaseGroup = {
  title: 'findById',
  cases: {
    'returns a pending, an active and a deleted row': async (given) => {
      const { store, at } = given
      const pending = await given.reserve({ metadata: { a: '1' }, storageKey: 'stored' })
      const { id } = pending
      same(await store.findById({ id }), pending, 'the pending row')
      const active = await given.confirm()
      same(await store.findById({ id }), active, 'the active row')
      const deleted = await store.remove(at)
      same(await store.findById({ id }), deleted, 'the deleted row')
    },

    'finds a replacement by its attempt only until it is confirmed': async (given) => {
      const { store } = given
      const active = await given.activate()
      const pending = await given.reserve()
      same(await store.findById({ id: active.id }), active, 'the object')
      same(await store.findById({ id: pending.id }), pending, 'the replacement')
      const replaced = await given.confirm()
      same(await store.findById({ id: active.id }), replaced, 'the replaced object')
      same(await store.findById({ id: pending.id }), null, 'the confirmed attempt')
    },

    'finds each object of a key, live and removed': async (given) => {
      const { store } = given
      const deleted = [await given.history(), await given.history()]
      const active = await given.activate()
      for (const row of [...deleted, active]) same(await store.findById({ id: row.id }), row)
    },

    'returns null for rows that are gone, and for ids that never existed': async (given) => {
      const { store, clock, at } = given
      same(await store.findById({ id: given.newId() }), null, 'an unknown id')
      const { id: released } = await given.reserve({ storageKey: 'released' })
      await store.release(at)
      const { id: displaced } = await given.reserve({ storageKey: 'displaced' })
      const { id: dropped } = await given.activate({ storageKey: 'dropped' })
      await store.remove({ ...at, mode: 'hard' })
      const { id: purged } = await given.reserve({ storageKey: 'purged' })
      const { id: forgotten } = await given.history({ key: 'another' })
      clock.advance(2 * HOUR)
      await store.purgeExpired()
      await store.purgeDeleted({ before: clock.now() })
      for (const id of [released, displaced, dropped, purged, forgotten]) {
        same(await store.findById({ id }), null, 'a row that is gone')
      }
    },

    'returns a row only if it belongs to the given scope': async (given) => {
      const { store, at, scope, otherScope } = given
      const { id } = await given.reserve()
      for (const next of [() => given.confirm(), () => store.remove(at), null]) {
        sameFields(await store.findById({ id, scope }), { id, scope })
        same(await store.findById({ id, scope: otherScope }), null, 'the row of another scope')
        await next?.()
      }
    },
  },
}

export const findTransferredCases: CaseGroup = {
  title: 'findById after a transfer',
  cases: {
    'returns the row for its new scope only': async (given) => {
      const { store, at, scope, otherScope } = given
      const { id } = await given.activate()
      const row = await store.transfer({ ...at, from: scope, to: otherScope })
      same(await store.findById({ id }), row)
      same(await store.findById({ id, scope: otherScope }), row, 'for the new scope')
      same(await store.findById({ id, scope }), null, 'for the old scope')
    },
  },
}
