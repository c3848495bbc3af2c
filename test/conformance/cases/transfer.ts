import { refused, refusedField, same, sameFields } from '../assertions.js'
import { HOUR, MINUTE } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { NO_USAGE, allOf, numbers } from '../given.js'
import { observed } from '../outcome.js'

export const transferCases: CaseGroup = {
  title: 'transfer',
  cases: {
    'gives the object to the other scope, and changes only scope and updatedAt': async (given) => {
      const { store, clock, at, scope, otherScope } = given
      const fields = { filename: 'a', contentType: 'b', metadata: { a: '1' }, route: 'r', storageKey: 's' }
      const active = await given.activate(fields, { eTag: 'etag' })
      clock.advance(MINUTE)
      const row = await store.transfer({ ...at, from: scope, to: otherScope })
      same(row, { ...active, scope: otherScope, updatedAt: clock.now() })
      same(await store.findActive(at), row, 'the active row')
      same((await store.listByScope({ scope })).objects, [], 'the list of the old owner')
      same(
        (await store.listByScope({ scope: otherScope, route: 'r' })).objects,
        [row],
        'that of the new owner',
      )
    },

    'moves usage and counts': async (given) => {
      const { store, at, scope, otherScope } = given
      await given.activate({ key: 'kept', declaredSize: 3 })
      await given.activate({ key: 'theirs', declaredSize: 5, scope: otherScope })
      await given.activate()
      await store.transfer({ ...at, from: scope, to: otherScope })
      same(await store.getScopeUsage(scope), { ...NO_USAGE, bytes: 3, files: 1 }, 'usage of the old owner')
      same(
        await store.getScopeUsage(otherScope),
        { ...NO_USAGE, bytes: 15, files: 2 },
        'that of the new owner',
      )
      same(await store.countByScope(scope, 'active'), 1, 'rows of the old owner')
      same(await store.countByScope(otherScope, 'active'), 2, 'rows of the new owner')
      same(await store.checkUsage(), [], 'checkUsage')
    },

    'makes the new scope the owner of the key': async (given) => {
      const { store, at, scope, otherScope } = given
      await given.activate()
      await store.transfer({ ...at, from: scope, to: otherScope })
      await refused(() => given.reserve(), 'KEY_CONFLICT')
      same(await store.remove({ ...at, scope }), null, 'remove by the old owner')
      same(await store.find({ ...at, scope }), null, 'the row of the old owner')
      const replacement = await given.reserve({ scope: otherScope })
      sameFields(await given.confirm({ id: replacement.id, scope: otherScope }), { scope: otherScope })
    },

    'returns the row of the first call to a repeat after a lost response': async (given) => {
      const { store, clock, at, scope, otherScope } = given
      await given.activate()
      const input = { ...at, from: scope, to: otherScope, quota: { maxFiles: 1 } }
      const row = await store.transfer(input)
      const replacement = await given.reserve({ scope: otherScope })
      clock.advance(MINUTE)
      same(await store.transfer(input), row)
      same(
        await store.transfer({ ...input, quota: { maxBytes: 0, maxFiles: 0 } }),
        row,
        'a repeat over a quota',
      )
      same(await store.findPending(at), replacement, "the new owner's replacement")
    },

    'changes nothing if both scopes are the same': async (given) => {
      const { store, clock, at, scope } = given
      const active = await given.activate()
      const pending = await given.reserve()
      clock.advance(MINUTE)
      const quota = { maxBytes: 0, maxFiles: 0 }
      same(await store.transfer({ ...at, from: scope, to: scope, quota }), active)
      same(await store.findPending(at), pending, 'the replacement')
    },

    'returns null if neither scope has an active row': async (given) => {
      const { store, at, scope, otherScope } = given
      const input = { ...at, from: scope, to: otherScope }
      same(await store.transfer(input), null, 'transfer of an unknown key')
      const pending = await given.reserve()
      same(await store.transfer(input), null, 'transfer of a pending row')
      same(await store.findPending(at), pending, 'the pending row')
      const active = await given.confirm()
      same(await store.transfer({ ...at, from: 'a', to: 'b' }), null, 'transfer between other scopes')
      same(await store.findActive(at), active, 'the active row')
      const deleted = await store.remove(at)
      same(await store.transfer(input), null, 'transfer of history')
      same(await store.find(at), deleted, 'the history')
    },

    'acts only on the attempt that it names': async (given) => {
      const { store, at, scope, otherScope } = given
      const { id } = await given.activate()
      const active = await given.activate()
      const pending = await given.reserve()
      const input = { ...at, from: scope, to: otherScope }
      for (const attemptId of [id, pending.id, given.newId()]) {
        same(await store.transfer({ ...input, attemptId }), null, 'transfer by another attempt')
      }
      same([await store.findActive(at), await store.findPending(at)], [active, pending], 'the live rows')
      const { attemptId } = active
      const row = await store.transfer({ ...input, attemptId })
      sameFields(row, { id, scope: otherScope })
      same(await store.transfer({ ...input, attemptId }), row, 'a repeat')
      same(await store.transfer({ ...input, attemptId: id }), null, 'a repeat by another attempt')
    },

    'ends a pending replacement as release does': async (given) => {
      const { store, clock, at, scope, otherScope } = given
      await given.activate({ storageKey: 'object' })
      const { id, expiresAt } = await given.reserve({
        ...{ storageKey: 'replacement', uploadId: 'upload', declaredSize: 25 },
      })
      clock.advance(MINUTE)
      await store.transfer({ ...at, from: scope, to: otherScope })
      same(await store.findPending(at), null, 'the replacement')
      same(await store.getScopeUsage(scope), NO_USAGE, 'usage of the old owner')
      same(
        await store.getScopeUsage(otherScope),
        { ...NO_USAGE, bytes: 10, files: 1 },
        'that of the new owner',
      )
      const leftover = { attemptId: id, storageKey: 'replacement', uploadId: 'upload' }
      const times = { since: clock.now(), writableUntil: expiresAt! }
      same(await given.leftovers(), [given.leftover({ ...leftover, ...times })], 'leftovers')
    },

    'ends an expired replacement too': async (given) => {
      const { store, clock, at, scope, otherScope } = given
      await given.activate()
      await given.reserve({ storageKey: 'replacement' })
      clock.advance(2 * HOUR)
      await store.transfer({ ...at, from: scope, to: otherScope })
      same(await store.findPending(at), null, 'the replacement')
      same(await store.listExpired(), [], 'expired reservations')
      same((await given.leftovers()).length, 1, 'leftovers')
    },

    'leaves history with the old scope': async (given) => {
      const { store, at, scope, otherScope } = given
      const deleted = await given.history()
      await given.activate()
      await store.transfer({ ...at, from: scope, to: otherScope })
      same(
        (await store.listByScope({ scope, status: 'deleted' })).objects,
        [deleted],
        'history of the old owner',
      )
      same(await store.countByScope(otherScope, 'deleted'), 0, 'rows of history of the new owner')
    },

    'leaves a leftover of the new scope when the object is removed': async (given) => {
      const { store, clock, at, scope, otherScope } = given
      const { id, expiresAt } = await given.reserve({ storageKey: 'stored' })
      await given.confirm()
      await store.transfer({ ...at, from: scope, to: otherScope })
      await store.remove(at)
      const times = { since: clock.now(), writableUntil: expiresAt! }
      const leftover = { attemptId: id, scope: otherScope, storageKey: 'stored', uploadId: null }
      same(await given.leftovers(), [given.leftover({ ...leftover, ...times })])
    },

    'returns an object to its first owner': async (given) => {
      const { store, at, scope, otherScope } = given
      const active = await given.activate()
      await store.transfer({ ...at, from: scope, to: otherScope })
      same(await store.transfer({ ...at, from: otherScope, to: scope }), active)
      same(await store.getScopeUsage(otherScope), NO_USAGE, 'usage of the other scope')
    },
  },
}

export const transferQuotaCases: CaseGroup = {
  title: 'quota of a transfer',
  cases: {
    'limits the bytes of the new owner, reservations included': async (given) => {
      const { store, at, scope, otherScope } = given
      await given.activate({ key: 'a', scope: otherScope, declaredSize: 5 })
      await given.reserve({ key: 'b', scope: otherScope, declaredSize: 7 })
      await given.activate()
      const input = { ...at, from: scope, to: otherScope }
      await refused(() => store.transfer({ ...input, quota: { maxBytes: 21 } }), 'QUOTA_EXCEEDED', {
        limit: 'maxBytes',
        max: 21,
        used: 12,
        reserved: 7,
        requested: 10,
      })
      sameFields(await store.transfer({ ...input, quota: { maxBytes: 22 } }), { scope: otherScope })
    },

    'limits the files of the new owner, after the bytes': async (given) => {
      const { store, at, scope, otherScope } = given
      await given.activate({ key: 'a', scope: otherScope })
      await given.reserve({ key: 'b', scope: otherScope })
      await given.activate()
      const input = { ...at, from: scope, to: otherScope }
      await refused(() => store.transfer({ ...input, quota: { maxFiles: 2 } }), 'QUOTA_EXCEEDED', {
        limit: 'maxFiles',
        max: 2,
        used: 2,
        reserved: 1,
        requested: 1,
      })
      await refused(
        () => store.transfer({ ...input, quota: { maxBytes: 0, maxFiles: 0 } }),
        'QUOTA_EXCEEDED',
        { limit: 'maxBytes', max: 0, used: 20, reserved: 10, requested: 10 },
      )
      sameFields(await store.transfer({ ...input, quota: { maxFiles: 3 } }), { scope: otherScope })
    },

    'changes nothing if it refuses': async (given) => {
      const { store, at, scope, otherScope } = given
      const active = await given.activate()
      const pending = await given.reserve({ storageKey: 'replacement' })
      const input = { ...at, from: scope, to: otherScope, quota: { maxFiles: 0 } }
      await refused(() => store.transfer(input), 'QUOTA_EXCEEDED')
      same([await store.findActive(at), await store.findPending(at)], [active, pending], 'the live rows')
      same(await given.leftovers(), [], 'leftovers')
      same(await store.getScopeUsage(otherScope), NO_USAGE, 'usage of the other scope')
    },

    'does not count a pending replacement, which ends': async (given) => {
      const { store, at, scope, otherScope } = given
      await given.activate()
      await given.reserve({ declaredSize: 100 })
      const quota = { maxBytes: 10, maxFiles: 1 }
      sameFields(await store.transfer({ ...at, from: scope, to: otherScope, quota }), { scope: otherScope })
    },

    'does not count what the old owner holds': async (given) => {
      const { store, at, scope, otherScope } = given
      await given.activate({ key: 'another', declaredSize: 100 })
      await given.activate()
      const quota = { maxBytes: 10, maxFiles: 1 }
      sameFields(await store.transfer({ ...at, from: scope, to: otherScope, quota }), { scope: otherScope })
    },

    'lets an empty object into a scope over its quota of bytes': async (given) => {
      const { store, at, scope, otherScope } = given
      await given.activate({ key: 'another', scope: otherScope })
      await given.activate({ declaredSize: 0 })
      const quota = { maxBytes: 5 }
      sameFields(await store.transfer({ ...at, from: scope, to: otherScope, quota }), { scope: otherScope })
    },

    'is filled exactly by transfers at the same time': async (given) => {
      const { store, scope, otherScope } = given
      const keys = numbers(6).map((number) => `key ${number}`)
      for (const key of keys) await given.activate({ key })
      const input = { ...given.at, from: scope, to: otherScope, quota: { maxFiles: 3 } }
      const outcomes = await allOf(keys.map((key) => observed(() => store.transfer({ ...input, key }))))
      same(outcomes.filter((outcome) => 'ok' in outcome).length, 3, 'accepted transfers')
      same(await store.getScopeUsage(otherScope), { ...NO_USAGE, bytes: 30, files: 3 }, 'usage')
    },

    'refuses a sum that is no longer a safe integer, after the quota': async (given) => {
      const { store, at, scope, otherScope } = given
      await given.reserve({ key: 'another', scope: otherScope, declaredSize: Number.MAX_SAFE_INTEGER - 9 })
      const active = await given.activate()
      const input = { ...at, from: scope, to: otherScope }
      await refusedField(() => store.transfer(input), 'to')
      await refused(() => store.transfer({ ...input, quota: { maxFiles: 1 } }), 'QUOTA_EXCEEDED')
      same(await store.findActive(at), active, 'the active row')
    },
  },
}
