import { refused, refusedField, same, sameFields } from '../assertions.js'
import { HOUR, MINUTE } from '../clock.js'
import type { CaseGroup, Given } from '../given.js'
import { numbers } from '../given.js'

const temporaryAt = (given: Given, keys: readonly string[]) =>
  Promise.all(keys.map((key) => given.activate({ key, temporarySeconds: 60 })))

export const keepCases: CaseGroup = {
  title: 'keep',
  cases: {
    'clears the end of all objects, and returns them in the order given': async (given) => {
      const { store, clock, scope } = given
      const [a, b] = await temporaryAt(given, ['a', 'b'])
      const usage = await store.getScopeUsage(scope)
      clock.advance(1)
      const rows = await store.keep({ scope, objects: [b!, a!] })
      const kept = [b!, a!].map((row) => ({ ...row, temporaryUntil: null, updatedAt: clock.now() }))
      same(rows, kept)
      same(await store.findById({ id: b!.id }), kept[0], 'findById')
      same(await store.listTemporary({ before: clock.in(HOUR) }), [], 'listTemporary')
      same(await store.getScopeUsage(scope), usage, 'usage')
    },

    'finds an object by its id and by that of the attempt that made its present version': async (given) => {
      const { store, scope, at } = given
      const object = await given.activate({ temporarySeconds: 60 })
      for (const by of ['id', 'attemptId'] as const) {
        const row = await given.activate({ temporarySeconds: 60 })
        await store.update({ ...at, temporarySeconds: 60 })
        const [kept] = await store.keep({ scope, objects: [{ id: row[by] }] })
        sameFields(kept!, { id: object.id, attemptId: row.attemptId, temporaryUntil: null }, by)
      }
      const again = await given.activate()
      const [kept] = await store.keep({ scope, objects: [{ id: again.attemptId }] })
      same(kept, again, 'one without an end')
      await refused(
        () => store.keep({ scope, objects: [{ id: again.id, attemptId: again.id }] }),
        'OBJECT_NOT_FOUND',
      )
    },

    'clears none if one is missing, and names all that are missing': async (given) => {
      const { store, clock, scope, otherScope } = given
      const [there] = await temporaryAt(given, ['there'])
      const foreign = await given.activate({ key: 'foreign', scope: otherScope, temporarySeconds: 60 })
      const pending = await given.reserve({ key: 'pending', temporarySeconds: 60 })
      const deleted = await given.history({ key: 'deleted' })
      const objects = [{ id: given.newId() }, there!, foreign, pending, deleted].map(({ id }) => ({ id }))
      const another = { id: there!.id, attemptId: given.newId() }
      await refused(() => store.keep({ scope, objects }), 'OBJECT_NOT_FOUND', { missing: '0,2,3,4' })
      await refused(() => store.keep({ scope, objects: [another] }), 'OBJECT_NOT_FOUND', { missing: '0' })
      same(await store.findById({ id: there!.id }), there, 'the object that is there')
      same(await store.listTemporary({ before: clock.in(HOUR) }), [there, foreign], 'listTemporary')
    },

    'leaves an object without an end as it is': async (given) => {
      const { store, clock, scope, at } = given
      const row = await given.activate()
      clock.advance(1)
      same(await store.keep({ scope, objects: [row] }), [row])
      same(await store.findActive(at), row, 'the active row')
    },

    'refuses an object twice, also under both its ids': async (given) => {
      const { store, scope, at } = given
      const { id } = await given.activate({ temporarySeconds: 60 })
      await refusedField(() => store.keep({ scope, objects: [{ id }, { id }] }), 'objects[1].id')
      const row = await given.activate({ temporarySeconds: 60 })
      const both = [{ id }, { id: row.attemptId }]
      await refusedField(() => store.keep({ scope, objects: both }), 'objects[1].id')
      same(await store.findActive(at), row, 'the active row')
    },

    'takes up to 100 objects': async (given) => {
      const { store, scope } = given
      const keys = numbers(100).map((number) => `key ${number}`)
      const rows = await temporaryAt(given, keys)
      const kept = await store.keep({ scope, objects: rows.map(({ id }) => ({ id })) })
      same(
        kept.map(({ key }) => key),
        keys,
        'the keys',
      )
    },

    'makes an arrived attempt stay once it is accepted, without a change of its row': async (given) => {
      const { store, clock, scope, at } = given
      const row = await given.arrive({ temporarySeconds: 60 })
      clock.advance(1)
      same(await store.keep({ scope, objects: [row] }), [row])
      same(await store.findPending(at), row, 'the pending row')
      same((await given.accept(row)).temporaryUntil, null, 'the end after the acceptance')
    },
  },
}

export const endTemporaryCases: CaseGroup = {
  title: 'endTemporary',
  cases: {
    'removes no object sooner than 60 seconds after its end': async (given) => {
      const { store, clock } = given
      const row = await given.activate({ temporarySeconds: 60 })
      for (const by of [0, MINUTE, MINUTE - 1]) {
        clock.advance(by)
        same(await store.endTemporary({ objects: [row] }), { removed: [], kept: 1 }, 'before')
      }
      same(await store.listTemporary(), [row], 'listTemporary')
      clock.advance(1)
      const { removed, kept } = await store.endTemporary({ objects: [row] })
      same([removed.length, kept], [1, 0], 'the number of rows, after 60 seconds')
    },

    'removes objects as remove does, and returns them in the order given': async (given) => {
      const { store, clock, scope } = given
      const [a, b, c] = await Promise.all(
        ['a', 'b', 'c'].map((key) =>
          given.activate({ key, storageKey: `bytes of ${key}`, temporarySeconds: 60 }),
        ),
      )
      clock.advance(HOUR)
      const now = clock.now()
      const deleted = [b!, a!].map((row) => {
        return { ...row, status: 'deleted', updatedAt: now, deletedAt: now, temporaryUntil: null }
      })
      same(await store.endTemporary({ objects: [b!, a!] }), { removed: deleted, kept: 0 }, 'soft')
      const hard = await store.endTemporary({ objects: [b!, c!], mode: 'hard' })
      same(hard, { removed: [c], kept: 1 }, 'hard')
      same((await store.listByScope({ scope, status: 'deleted' })).objects, deleted, 'the history')
      same((await given.leftovers()).map(({ key }) => key).sort(), ['a', 'b', 'c'], 'the leftovers')
      sameFields(await store.getScopeUsage(scope), { bytes: 0, files: 0 }, 'usage')
      same(await store.listTemporary(), [], 'listTemporary')
    },

    'leaves uploads and arrived attempts at the key as they are': async (given) => {
      const { store, clock, scope, at } = given
      const row = await given.activate({ temporarySeconds: 60 })
      const other = await given.activate({ key: 'other', temporarySeconds: 60 })
      const pending = await given.reserve({ declaredSize: 15, expiresAt: clock.in(2 * HOUR) })
      const arrived = await given.arrive({ key: 'other', declaredSize: 7 })
      clock.advance(HOUR)
      same((await store.endTemporary({ objects: [row, other] })).kept, 0, 'the number of kept objects')
      same(await store.findPending(at), pending, 'the pending row')
      same(await store.findPending({ ...at, key: 'other' }), arrived, 'the arrived attempt')
      same(
        await store.getScopeUsage(scope),
        { bytes: 0, files: 0, reservedBytes: 22, reservedFiles: 2 },
        'usage',
      )
    },

    'acts only where the version and the very end that were listed still hold': async (given) => {
      const { store, clock, scope, at } = given
      const row = await given.activate({ temporarySeconds: 60 })
      await store.keep({ scope, objects: [row] })
      const kept = await store.update({ ...at, temporarySeconds: 61 })
      clock.advance(HOUR)
      for (const keep of [[], [row.id]]) {
        same(
          await store.endTemporary({ objects: [row], keep }),
          { removed: [], kept: 1 },
          'of an earlier end',
        )
      }
      same(await store.findActive(at), kept, 'the active row')
      const listed = { ...kept!, attemptId: given.newId() }
      same((await store.endTemporary({ objects: [listed] })).removed, [], 'of another version')
      same(
        (await store.endTemporary({ objects: [{ ...kept!, id: given.newId() }] })).removed,
        [],
        'of another object',
      )
      same((await store.endTemporary({ objects: [kept!] })).kept, 0, 'of the present end')
    },

    'clears the end of those in keep, by id or attempt, whether or not it has come': async (given) => {
      const { store, clock, at } = given
      await given.activate({ temporarySeconds: 60 })
      for (const [by, wait] of [
        ['id', HOUR],
        ['attemptId', 0],
      ] as const) {
        const row = await given.activate({ temporarySeconds: 60 })
        await store.update({ ...at, temporarySeconds: 60 })
        const listed = await store.listTemporary({ before: clock.in(HOUR) })
        clock.advance(wait)
        const result = await store.endTemporary({ objects: listed, keep: [row[by]] })
        same(result, { removed: [], kept: 1 }, by)
        const kept = { ...listed[0], temporaryUntil: null, updatedAt: clock.now() }
        same(await store.findActive(at), kept, `the active row, kept by ${by}`)
      }
    },

    'refuses to keep an object that is none of those given': async (given) => {
      const { store, clock, at } = given
      const row = await given.activate({ temporarySeconds: 60 })
      clock.advance(HOUR)
      const keep = [row.id, given.newId()]
      await refusedField(() => store.endTemporary({ objects: [row], keep }), 'keep[1]')
      same(await store.findActive(at), row, 'the active row')
    },

    'removes an object that has another owner since it was listed': async (given) => {
      const { store, clock, scope, otherScope, at } = given
      const row = await given.activate({ temporarySeconds: 60 })
      await store.transfer({ ...at, from: scope, to: otherScope })
      clock.advance(HOUR)
      const { removed } = await store.endTemporary({ objects: [row] })
      same(removed[0]?.scope, otherScope, 'the owner of the removed row')
    },
  },
}

export const temporaryEventCases: CaseGroup = {
  title: 'events of temporary objects',
  events: true,
  cases: {
    'are updated by a keep, only for objects that had an end': async (given) => {
      const { store, scope } = given
      const ending = await given.activate({ temporarySeconds: 60 })
      const staying = await given.activate({ key: 'stays' })
      const arrived = await given.arrive({ key: 'arrived', temporarySeconds: 60 })
      await given.takeEvents()
      const [object] = await store.keep({ scope, objects: [ending, staying, arrived] })
      same(await given.takeEvents(), [{ type: 'updated', object, previous: ending }], 'the events')
    },

    'are deleted, or updated for those that stay': async (given) => {
      const { store, clock, at } = given
      const first = await given.activate({ temporarySeconds: 60 })
      clock.advance(HOUR)
      await given.takeEvents()
      await store.endTemporary({ objects: [first], keep: [first.id] })
      const object = await store.findActive(at)
      same(await given.takeEvents(), [{ type: 'updated', object, previous: first }], 'the event of a keep')
      const ending = await store.update({ ...at, temporarySeconds: 60 })
      clock.advance(HOUR)
      await given.takeEvents()
      const { removed } = await store.endTemporary({ objects: [ending!] })
      const deleted = { type: 'deleted', object: removed[0], previous: null }
      same(await given.takeEvents(), [deleted], 'the event of a removal')
    },
  },
}
