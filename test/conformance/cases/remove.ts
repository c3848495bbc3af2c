import { same, sameFields } from '../assertions.js'
import { HOUR, MINUTE } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { idsOf } from '../given.js'

export const removeCases: CaseGroup = {
  title: 'remove',
  cases: {
    'keeps the object as history by default, and returns the deleted row': async (given) => {
      const { store, clock, at, scope } = given
      const active = await given.activate()
      clock.advance(MINUTE)
      const row = await store.remove(at)
      same(row, { ...active, status: 'deleted', updatedAt: clock.now(), deletedAt: clock.now() })
      same((await store.listByScope({ scope, status: 'deleted' })).objects, [row], 'the history')
      same(await store.findActive(at), null, 'the active row')
    },

    'drops the row if the mode is hard, and returns it unchanged': async (given) => {
      const { store, clock, at, scope } = given
      const active = await given.activate()
      clock.advance(MINUTE)
      same(await store.remove({ ...at, mode: 'hard' }), active)
      same(await store.find(at), null, 'the result of find')
      same(await store.countByScope(scope, 'deleted'), 0, 'rows of history')
    },

    'removes the object and its pending replacement': async (given) => {
      const { store, at, scope } = given
      for (const mode of ['soft', 'hard'] as const) {
        await given.activate()
        await given.reserve({ filename: 'replacement' })
        sameFields(await store.remove({ ...at, mode }), { filename: null, size: 10 })
        same(await store.countByScope(scope), 0, `rows of the scope after a ${mode} remove`)
        same(await store.findPending(at), null, `the replacement after a ${mode} remove`)
      }
    },

    'releases a key that is only pending, and returns the pending row unchanged': async (given) => {
      const { store, clock, at, scope } = given
      for (const mode of [null, 'soft', 'hard'] as const) {
        const pending = await given.reserve()
        clock.advance(MINUTE)
        same(await store.remove({ ...at, mode }), pending)
        same(await store.find(at), null, 'the result of find')
      }
      same(await store.countByScope(scope, 'deleted'), 0, 'rows of history')
    },

    'works on an expired reservation': async (given) => {
      const { store, clock, at } = given
      const pending = await given.reserve()
      clock.advance(2 * HOUR)
      same(await store.remove(at), pending)
    },

    'returns null if nothing is live': async (given) => {
      const { store, at } = given
      same(await store.remove(at), null, 'remove of an unknown key')
      await given.activate()
      await store.remove(at)
      same(await store.remove(at), null, 'a repeat')
      same(await store.remove({ ...at, mode: 'hard' }), null, 'a hard repeat')
      same(await store.countByScope(given.scope, 'deleted'), 1, 'rows of history')
    },

    'treats the key of another scope as not found': async (given) => {
      const { store, at, scope, otherScope } = given
      const pending = await given.reserve()
      same(await store.remove({ ...at, scope: otherScope }), null, 'remove of a pending row')
      same(await store.find(at), pending, 'the pending row')
      const active = await given.confirm()
      same(await store.remove({ ...at, scope: otherScope }), null, 'remove of an active row')
      same(
        await store.remove({ ...at, scope: otherScope, mode: 'hard' }),
        null,
        'hard remove of an active row',
      )
      same(await store.find(at), active, 'the active row')
      sameFields(await store.remove({ ...at, scope }), { status: 'deleted' })
    },

    'removes an object at a key with history of another scope': async (given) => {
      const { store, at, scope, otherScope } = given
      await given.history()
      const active = await given.activate({ scope: otherScope })
      same(await store.remove({ ...at, scope }), null, 'remove by the scope of the history')
      same(await store.remove({ ...at, scope: otherScope, mode: 'hard' }), active)
    },

    'keeps the rows of other keys': async (given) => {
      const { store, at } = given
      const others = [
        await given.activate({ key: 'another' }),
        await given.activate({ bucket: 'another bucket' }),
        await given.reserve({ key: 'KEY' }),
      ]
      await given.activate()
      await store.remove(at)
      for (const other of others) same(await store.find(other), other, 'a row at another key')
    },
  },
}

export const removeAttemptCases: CaseGroup = {
  title: 'remove of an attempt',
  cases: {
    'removes the object, and its pending replacement, if the active row has the attempt': async (given) => {
      const { store, at, scope } = given
      for (const mode of ['soft', 'hard'] as const) {
        const { attemptId } = await given.activate({ filename: 'object' })
        await given.reserve({ filename: 'replacement' })
        sameFields(await store.remove({ ...at, attemptId, mode }), { filename: 'object' })
        same(await store.countByScope(scope), 0, `rows of the scope after a ${mode} remove`)
      }
    },

    'names an object by the attempt that was confirmed last, not by its id': async (given) => {
      const { store, at } = given
      const { id } = await given.activate()
      const replaced = await given.activate()
      same(replaced.id, id, 'the id of the object')
      same(await store.remove({ ...at, attemptId: id }), null, 'by the first attempt')
      same(await store.findActive(at), replaced, 'the active row')
      sameFields(await store.remove({ ...at, attemptId: replaced.attemptId }), { status: 'deleted', id })
    },

    'removes only the pending row if that has the attempt': async (given) => {
      const { store, at, scope } = given
      const active = await given.activate({ storageKey: 'object' })
      const pending = await given.reserve({ storageKey: 'replacement' })
      same(await store.remove({ ...at, attemptId: pending.id }), pending)
      same(await store.find(at), active, 'the active row')
      same(await store.countByScope(scope), 1, 'rows of the scope')
      same(
        (await given.leftovers()).map(({ storageKey }) => storageKey),
        ['replacement'],
        'storage keys of leftovers',
      )
    },

    'removes a pending row without an object': async (given) => {
      const { store, at } = given
      const pending = await given.reserve()
      same(await store.remove({ ...at, attemptId: given.newId() }), null, 'by another attempt')
      same(await store.remove({ ...at, attemptId: pending.id }), pending)
      same(await store.find(at), null, 'the result of find')
    },

    'finds nothing if no live row has the attempt, or another scope has it': async (given) => {
      const { store, at, otherScope } = given
      const deleted = await given.history()
      const active = await given.activate()
      const pending = await given.reserve()
      const { attemptId } = active
      for (const other of [deleted.attemptId, given.newId()]) {
        same(await store.remove({ ...at, attemptId: other }), null, 'by an attempt that is not live')
      }
      for (const foreign of [attemptId, pending.id]) {
        same(await store.remove({ ...at, attemptId: foreign, scope: otherScope }), null, 'by another scope')
      }
      same([await store.findActive(at), await store.findPending(at)], [active, pending], 'the live rows')
      same(await store.remove({ ...at, key: 'another', attemptId }), null, 'at another key')
    },
  },
}

export const historyCases: CaseGroup = {
  title: 'history',
  cases: {
    'keeps every removed object of a key': async (given) => {
      const { store, clock, scope } = given
      const rows = []
      for (const declaredSize of [1, 2, 3]) {
        rows.unshift(await given.history({ declaredSize }))
        clock.advance(MINUTE)
      }
      same((await store.listByScope({ scope, status: 'deleted' })).objects, rows, 'the history, newest first')
    },

    "doesn't occupy the key: any scope may reserve it again": async (given) => {
      const { store, at, otherScope } = given
      const deleted = await given.history()
      const active = await given.activate({ scope: otherScope, overwrite: false })
      same(await store.find(at), active, 'the result of find')
      same(
        (await store.listByScope({ scope: given.scope, status: 'deleted' })).objects,
        [deleted],
        'the history',
      )
    },

    'is dropped only by purgeDeleted': async (given) => {
      const { store, clock, at, scope } = given
      await given.history()
      await given.activate()
      await store.remove({ ...at, mode: 'hard' })
      await given.reserve()
      await store.release(at)
      await given.reserve()
      clock.advance(2 * HOUR)
      await store.purgeExpired()
      await given.reserve()
      await store.remove({ ...at, mode: 'hard' })
      same(await store.countByScope(scope, 'deleted'), 1, 'rows of history')
    },

    'is dropped by purgeDeleted up to and including a date': async (given) => {
      const { store, clock, scope } = given
      const keys = ['a', 'b', 'c']
      for (const key of keys) await given.activate({ key })
      for (const key of keys) {
        await store.remove({ bucket: 'bucket', key })
        clock.advance(MINUTE)
      }
      same(
        await store.purgeDeleted({ before: clock.in(-3 * MINUTE - 1) }),
        0,
        'rows dropped before the first',
      )
      same(await store.purgeDeleted({ before: clock.in(-2 * MINUTE) }), 2, 'rows dropped up to the second')
      const { objects } = await store.listByScope({ scope, status: 'deleted' })
      same(
        objects.map(({ key }) => key),
        ['c'],
        'remaining keys',
      )
      same(await store.purgeDeleted({ before: clock.in(HOUR) }), 1, 'rows dropped up to a future date')
      same(await store.purgeDeleted({ before: clock.in(HOUR) }), 0, 'rows dropped by a repeat')
      same(await store.countByScope(scope, 'deleted'), 0, 'rows of history')
    },

    'is dropped by purgeDeleted without that of the same key in another bucket': async (given) => {
      const { store, clock, scope } = given
      await given.history({ bucket: 'first' })
      const before = clock.now()
      clock.advance(MINUTE)
      const kept = await given.history({ bucket: 'second' })
      same(await store.purgeDeleted({ before }), 1, 'rows dropped')
      same((await store.listByScope({ scope, status: 'deleted' })).objects, [kept], 'the history')
      same(await store.purgeDeleted({ before: clock.now() }), 1, 'rows dropped later')
    },

    'is dropped in order of deletion if purgeDeleted has a limit': async (given) => {
      const { store, clock, scope } = given
      // Removed in a different order than created.
      const keys = ['a', 'b', 'c', 'd']
      for (const key of keys) await given.activate({ key })
      for (const key of ['c', 'a', 'd', 'b']) {
        await store.remove({ bucket: 'bucket', key })
        clock.advance(MINUTE)
      }
      same(await store.purgeDeleted({ before: clock.now(), limit: 2 }), 2, 'rows dropped')
      const { objects } = await store.listByScope({ scope, status: 'deleted' })
      same(
        objects.map(({ key }) => key),
        ['d', 'b'],
        'remaining keys',
      )
    },

    'is dropped in order of id if purgeDeleted has a limit and all rows were deleted in the same millisecond':
      async (given) => {
        const { store, clock, scope } = given
        for (const key of ['a', 'b', 'c', 'd']) await given.activate({ key })
        for (const key of ['c', 'a', 'd', 'b']) await store.remove({ bucket: 'bucket', key })
        same(await store.purgeDeleted({ before: clock.now(), limit: 2 }), 2, 'rows dropped')
        const { objects } = await store.listByScope({ scope, status: 'deleted' })
        same(
          objects.map(({ key }) => key),
          ['d', 'c'],
          'remaining keys',
        )
      },

    'is dropped by purgeDeleted without changing live rows': async (given) => {
      const { store, clock, at, scope } = given
      await given.history({ storageKey: 'stored' })
      const active = await given.activate()
      const pending = await given.reserve({ key: 'another' })
      const usage = await store.getScopeUsage(scope)
      const leftovers = await given.leftovers()
      same(await store.purgeDeleted({ before: clock.now() }), 1, 'rows dropped')
      same((await store.listByScope({ scope })).objects, [pending, active], 'the live rows')
      same(await store.find(at), active, 'the result of find')
      same(await store.getScopeUsage(scope), usage, 'usage')
      same(await given.leftovers(), leftovers, 'leftovers')
    },
  },
}

export const scopedHistoryCases: CaseGroup = {
  title: 'history of a scope',
  cases: {
    'is dropped alone by purgeDeleted with that scope': async (given) => {
      const { store, clock, scope, otherScope } = given
      await given.history()
      await given.history({ scope: otherScope })
      const before = clock.now()
      same(await store.purgeDeleted({ before, scope: 'unknown' }), 0, 'rows dropped of an unknown scope')
      same(await store.purgeDeleted({ before, scope }), 1, 'rows dropped')
      same(await store.countByScope(scope, 'deleted'), 0, 'rows of the scope')
      same(await store.countByScope(otherScope, 'deleted'), 1, 'rows of the other scope')
    },

    'is dropped up to a date, in order of deletion and then of id': async (given) => {
      const { store, clock, scope, otherScope } = given
      const keys = ['a', 'b', 'c', 'd', 'e']
      for (const key of keys) await given.activate({ key, scope: key === 'b' ? otherScope : scope })
      clock.advance(MINUTE)
      await store.remove({ bucket: 'bucket', key: 'd' })
      clock.advance(-MINUTE)
      for (const key of ['b', 'e', 'c', 'a']) await store.remove({ bucket: 'bucket', key })
      const before = clock.now()
      const kept = async () =>
        (await store.listByScope({ scope, status: 'deleted' })).objects.map(({ key }) => key)
      same(await store.purgeDeleted({ before, scope, limit: 2 }), 2, 'rows dropped with a limit')
      same(await kept(), ['e', 'd'], 'remaining keys')
      same(await store.purgeDeleted({ before, scope }), 1, 'rows dropped up to the date')
      same(await kept(), ['d'], 'remaining keys')
      same(await store.countByScope(otherScope, 'deleted'), 1, 'rows of the other scope')
    },
  },
}

export const objectHistoryCases: CaseGroup = {
  title: 'history of an object',
  cases: {
    'is dropped alone by purgeDeleted with its id, whenever it was deleted': async (given) => {
      const { store, clock, scope } = given
      const rows = [await given.history(), await given.history(), await given.history({ key: 'another' })]
      clock.advance(MINUTE)
      const late = await given.history()
      clock.advance(-MINUTE)
      const kept = async () => idsOf((await store.listByScope({ scope, status: 'deleted' })).objects)
      same(await store.purgeDeleted({ id: rows[1]!.id }), 1, 'rows dropped')
      same(await kept(), idsOf([late, rows[2]!, rows[0]!]), 'remaining ids')
      same(await store.purgeDeleted({ id: late.id }), 1, 'rows dropped of a later deletion')
      same(await kept(), idsOf([rows[2]!, rows[0]!]), 'remaining ids')
      same(await store.purgeDeleted({ id: late.id }), 0, 'rows dropped by a repeat')
      same(await store.purgeDeleted({ id: given.newId() }), 0, 'rows dropped with an unknown id')
      same(await store.countByScope(scope, 'deleted'), 2, 'rows of history')
    },

    'has the id of the object, not that of its last attempt': async (given) => {
      const { store, at } = given
      const { id } = await given.activate()
      const { attemptId } = await given.activate()
      const deleted = await store.remove(at)
      same([deleted?.id, deleted?.attemptId], [id, attemptId], 'id and attempt of the deleted row')
      same(await store.purgeDeleted({ id: attemptId }), 0, 'rows dropped with the attempt')
      same(await store.purgeDeleted({ id }), 1, 'rows dropped with the id')
    },

    'is dropped without changing what lives at its key': async (given) => {
      const { store, at, scope } = given
      const { id } = await given.history({ storageKey: 'stored' })
      const active = await given.activate()
      const pending = await given.reserve()
      const usage = await store.getScopeUsage(scope)
      const leftovers = await given.leftovers()
      for (const live of [active, pending]) {
        same(await store.purgeDeleted({ id: live.id }), 0, `rows dropped with the id of a ${live.status} row`)
      }
      same(await store.purgeDeleted({ id }), 1, 'rows dropped')
      same(await store.findActive(at), active, 'the active row')
      same(await store.findPending(at), pending, 'the pending row')
      same(await store.getScopeUsage(scope), usage, 'usage')
      same(await given.leftovers(), leftovers, 'leftovers')
    },

    'is dropped only if scope and date match too': async (given) => {
      const { store, clock, scope, otherScope } = given
      const { id } = await given.history()
      const before = clock.now()
      const tooEarly = clock.in(-1)
      same(await store.purgeDeleted({ id, scope: otherScope }), 0, 'rows dropped of another scope')
      same(await store.purgeDeleted({ id, before: tooEarly }), 0, 'rows dropped before the deletion')
      same(await store.purgeDeleted({ id, scope, before: tooEarly }), 0, 'rows dropped of an earlier date')
      same(await store.purgeDeleted({ id, scope, before }), 1, 'rows dropped')
    },
  },
}
