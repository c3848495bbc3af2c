import { holds, refused, refusedField, same, sameFields } from '../assertions.js'
import { HOUR, SECOND } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { numbers } from '../given.js'

export const reserveCases: CaseGroup = {
  title: 'reserve',
  cases: {
    'uses the given id as the id and the attemptId of the row': async (given) => {
      const id = given.newId()
      sameFields(await given.reserve({ id }), { id, attemptId: id })
    },

    'returns the pending row unchanged if the same scope repeats its id': async (given) => {
      const { clock } = given
      const id = given.newId()
      const row = await given.reserve({ id, declaredSize: 5, filename: 'first' })
      clock.advance(SECOND)
      same(await given.reserve({ id, declaredSize: 6, filename: 'second', storageKey: 'stored' }), row)
      same(await given.store.find(given.at), row, 'the result of find')
      same(await given.leftovers(), [], 'leftovers')
    },

    'checks only the input before it returns the pending row of a repeat': async (given) => {
      const id = given.newId()
      await given.activate()
      const row = await given.reserve({ id, storageKey: 'stored' })
      const again = { id, storageKey: 'stored', overwrite: false, declaredSize: Number.MAX_SAFE_INTEGER }
      same(await given.reserve({ ...again, quota: { maxBytes: 0, maxFiles: 0 } }), row)
      await refusedField(() => given.reserve({ id, declaredSize: -1 }), 'declaredSize')
    },

    'returns the pending row of a repeat even after it has expired': async (given) => {
      const { clock } = given
      const id = given.newId()
      const row = await given.reserve({ id })
      clock.advance(2 * HOUR)
      same(await given.reserve({ id }), row)
    },

    'refuses a repeat by another scope': async (given) => {
      const id = given.newId()
      await given.reserve({ id })
      await refused(() => given.reserve({ id, scope: given.otherScope }), 'KEY_CONFLICT')
    },

    'creates a new attempt that displaces the earlier one': async (given) => {
      const { store, at } = given
      const first = await given.reserve({ declaredSize: 5, filename: 'first' })
      const second = await given.reserve({ declaredSize: 6 })
      holds(second.id !== first.id, 'the new attempt has the id of the earlier one')
      sameFields(second, { declaredSize: 6, filename: null })
      same(await store.find(at), second, 'the result of find')
      same(await store.countByScope(given.scope), 1, 'rows of the scope')
    },

    'allows only the new attempt to be confirmed': async (given) => {
      const first = await given.reserve()
      const second = await given.reserve()
      await refused(() => given.confirm({ id: first.id }), 'OBJECT_NOT_FOUND')
      sameFields(await given.confirm({ id: second.id }), { id: second.id, status: 'active' })
    },

    'requires expiresAt to be in the future': async (given) => {
      const { clock } = given
      await refusedField(() => given.reserve({ expiresAt: clock.now() }), 'expiresAt')
      await refusedField(() => given.reserve({ expiresAt: clock.in(-1) }), 'expiresAt')
      same((await given.reserve({ expiresAt: clock.in(1) })).expiresAt, clock.in(1), 'expiresAt')
    },

    'refuses a key that is live in another scope': async (given) => {
      const { store, at, otherScope } = given
      const pending = await given.reserve()
      await refused(() => given.reserve({ scope: otherScope }), 'KEY_CONFLICT')
      same(await store.find(at), pending, 'the pending row')
      const active = await given.confirm()
      await refused(() => given.reserve({ scope: otherScope }), 'KEY_CONFLICT')
      same(await store.find(at), active, 'the active row')
      same(await store.countByScope(otherScope), 0, 'rows of the other scope')
    },

    'refuses a key that is active in another scope, even if its replacement has expired': async (given) => {
      const { clock, otherScope } = given
      await given.activate()
      await given.reserve()
      clock.advance(2 * HOUR)
      await refused(() => given.reserve({ scope: otherScope }), 'KEY_CONFLICT')
      same(await given.store.countByScope(given.scope), 2, 'rows of the owner')
    },

    "takes over a key that holds only another scope's expired reservation, and drops that reservation":
      async (given) => {
        const { store, clock, at, scope, otherScope } = given
        const expired = await given.reserve({ expiresAt: clock.in(SECOND) })
        clock.advance(SECOND - 1)
        await refused(() => given.reserve({ scope: otherScope }), 'KEY_CONFLICT')
        clock.advance(1)
        const row = await given.reserve({ scope: otherScope })
        same(await store.find(at), row, 'the result of find')
        same(await store.countByScope(scope), 0, 'rows of the previous owner')
        await refused(() => given.confirm({ id: expired.id }), 'OBJECT_NOT_FOUND')
      },

    "keeps another scope's expired reservation if the reserve is refused": async (given) => {
      const { store, clock, at, otherScope } = given
      const expired = await given.reserve({ id: given.newId(), storageKey: 'stored' })
      clock.advance(2 * HOUR)
      const taking = { scope: otherScope, declaredSize: 5 }
      await refused(() => given.reserve({ ...taking, quota: { maxBytes: 4 } }), 'QUOTA_EXCEEDED')
      await refused(() => given.reserve({ ...taking, declaredSize: -1 }), 'VALIDATION_ERROR')
      same(await store.find(at), expired, 'the expired reservation')
      same(await given.leftovers(), [], 'leftovers')
      sameFields(await given.confirm({ id: expired.id }), { status: 'active', scope: given.scope })
    },

    "refuses the id and the storage key of another scope's expired reservation": async (given) => {
      const { store, clock, at, otherScope } = given
      const expired = await given.reserve({ id: given.newId(), storageKey: 'stored' })
      clock.advance(2 * HOUR)
      const { id } = expired
      await refusedField(() => given.reserve({ scope: otherScope, id }), 'id')
      await refusedField(() => given.reserve({ scope: otherScope, storageKey: 'stored' }), 'storageKey')
      same(await store.find(at), expired, 'the expired reservation')
    },

    'accepts a key from any scope once the key has no live rows': async (given) => {
      const { store, at, otherScope } = given
      await given.reserve()
      await store.release(at)
      await given.activate({ scope: otherScope })
      await store.remove({ ...at, mode: 'hard' })
      await given.activate()
      await store.remove(at)
      sameFields(await given.reserve({ scope: otherScope }), { scope: otherScope, status: 'pending' })
    },

    'refuses the id and the attemptId of the active row': async (given) => {
      const first = await given.activate({ id: given.newId() })
      const second = await given.activate({ id: given.newId() })
      same(second.id, first.id, 'the id of the replaced object')
      await refusedField(() => given.reserve({ id: second.id }), 'id')
      await refusedField(() => given.reserve({ id: second.attemptId }), 'id')
      same(await given.store.findPending(given.at), null, 'the pending row')
    },

    'refuses the storage key of the active row and of the attempt it would displace': async (given) => {
      const { store, at } = given
      await given.activate({ storageKey: 'stored' })
      await refusedField(() => given.reserve({ storageKey: 'stored' }), 'storageKey')
      const pending = await given.reserve({ storageKey: 'stored too' })
      await refusedField(() => given.reserve({ storageKey: 'stored too' }), 'storageKey')
      same(await store.findPending(at), pending, 'the pending row')
      await given.reserve()
      await given.reserve()
    },

    'refuses an active key if overwrite is false': async (given) => {
      const { store, at } = given
      await given.reserve({ overwrite: false })
      await given.reserve({ overwrite: false })
      const active = await given.confirm()
      await refused(() => given.reserve({ overwrite: false }), 'KEY_CONFLICT')
      same(await store.find(at), active, 'the active row')
      same(await store.countByScope(given.scope), 1, 'rows of the scope')
      await store.remove(at)
      await given.reserve({ overwrite: false })
    },

    'overwrites by default': async (given) => {
      await given.activate()
      sameFields(await given.reserve(), { status: 'pending' })
      sameFields(await given.reserve({ overwrite: null }), { status: 'pending' })
      sameFields(await given.reserve({ overwrite: true }), { status: 'pending' })
    },

    'reports the first failed check in the order of the contract': async (given) => {
      const { clock, otherScope } = given
      const tooMuch = { quota: { maxBytes: 0, maxFiles: 0 }, declaredSize: Number.MAX_SAFE_INTEGER }
      const active = await given.activate({ storageKey: 'stored' })
      const all = { scope: otherScope, id: active.id, storageKey: 'stored', overwrite: false, ...tooMuch }
      const expiresAt = { expiresAt: clock.now() }
      await refusedField(() => given.reserve({ ...all, ...expiresAt }), 'expiresAt')
      await refused(() => given.reserve(all), 'KEY_CONFLICT')
      const own = { ...all, scope: given.scope }
      await refusedField(() => given.reserve(own), 'id', 'storageKey')
      const newId = { ...own, id: null }
      await refusedField(() => given.reserve(newId), 'storageKey')
      const newKey = { ...newId, storageKey: null }
      await refused(() => given.reserve(newKey), 'KEY_CONFLICT')
      const growth = Number.MAX_SAFE_INTEGER - 10
      const params = {
        limit: 'maxBytes',
        max: 0,
        used: 10,
        reserved: 0,
        requested: growth,
      }
      await refused(() => given.reserve({ ...newKey, overwrite: true }), 'QUOTA_EXCEEDED', params)
      const another = { key: 'another', declaredSize: Number.MAX_SAFE_INTEGER }
      await refused(() => given.reserve({ ...another, quota: { maxFiles: 1 } }), 'QUOTA_EXCEEDED')
      await refusedField(() => given.reserve(another), 'declaredSize')
    },

    'distinguishes buckets and keys that are equal when joined': async (given) => {
      const { store } = given
      const references = [
        { bucket: 'a', key: 'b/c' },
        { bucket: 'a/b', key: 'c' },
        { bucket: 'a b', key: 'c' },
        { bucket: 'a', key: 'b c' },
        { bucket: 'A', key: 'b/c' },
        { bucket: 'a', key: 'B/C' },
        { bucket: 'a', key: 'b/c/' },
        { bucket: 'b/c', key: 'a' },
      ]
      for (const [index, reference] of references.entries())
        await given.reserve({ ...reference, declaredSize: index })
      for (const [index, reference] of references.entries()) {
        sameFields(await store.find(reference), { ...reference, declaredSize: index })
      }
      same(await store.countByScope(given.scope), references.length, 'rows of the scope')
    },

    'supports many attempts at one key, one after the other': async (given) => {
      const { store, at } = given
      for (const round of numbers(5)) {
        await given.reserve({ storageKey: `displaced ${round}` })
        await given.activate({ storageKey: `stored ${round}`, declaredSize: round })
      }
      sameFields(await store.find(at), { status: 'active', size: 4, storageKey: 'stored 4' })
      same((await given.leftovers()).length, 9, 'number of leftovers')
    },
  },
}
