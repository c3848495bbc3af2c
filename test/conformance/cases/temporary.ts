import { refused, same, sameFields } from '../assertions.js'
import { END_OF_TIME, HOUR, MINUTE, SECOND } from '../clock.js'
import type { CaseGroup } from '../given.js'

const DAY = 24 * HOUR

export const temporaryCases: CaseGroup = {
  title: 'temporary objects',
  cases: {
    'end their seconds after the confirm, however late that is': async (given) => {
      const { store, clock, at } = given
      const pending = await given.reserve({ temporarySeconds: 60 })
      same(pending.temporaryUntil, null, 'the end of the pending row')
      clock.advance(7 * DAY)
      const row = await given.confirm({ id: pending.id })
      same(row.temporaryUntil, clock.in(MINUTE), 'the end')
      same(await store.findActive(at), row, 'the active row')
    },

    'have an end only by temporarySeconds, not by the temporaryUntil of a row that is passed': async (
      given,
    ) => {
      const { store, clock, at } = given
      const until = { temporaryUntil: clock.in(HOUR) }
      same(
        (await given.activate({ declaredSize: 10, ...until })).temporaryUntil,
        null,
        'the end after a reserve with one',
      )
      const updated = await store.update({ ...at, ...until, filename: 'a' })
      sameFields(updated, { filename: 'a', temporaryUntil: null }, 'an update with one')
      const ending = await store.update({ ...at, temporarySeconds: 60 })
      const stays = { ...ending, temporaryUntil: null, filename: 'b' }
      same(
        (await store.update({ ...at, ...stays }))?.temporaryUntil,
        clock.in(MINUTE),
        'an update without one',
      )
    },

    'get no other end by a repeated confirm, which returns them also past their end': async (given) => {
      const { store, clock, at } = given
      const row = await given.activate({ temporarySeconds: 60 })
      for (const by of [SECOND, MINUTE, HOUR]) {
        clock.advance(by)
        same(await given.confirm({ id: row.id }), row, 'the repeated confirm')
      }
      same(await store.findActive(at), row, 'the active row')
    },

    'never replace an object that stays by one with an end': async (given) => {
      const { store, scope, at } = given
      await given.activate()
      same((await given.activate({ temporarySeconds: 60 })).temporaryUntil, null, 'of a permanent object')
      await store.remove(at)
      const { id } = await given.activate({ temporarySeconds: 60 })
      await store.keep({ scope, objects: [{ id }] })
      const replaced = await given.activate({ temporarySeconds: 60 })
      same(replaced.temporaryUntil, null, 'of an object that was kept')
      same((await store.findActive(at))?.temporaryUntil, null, 'the active row')
    },

    'take the end of each replacement, or stay after one without an end': async (given) => {
      const { store, clock, at } = given
      await given.activate({ temporarySeconds: 60 })
      clock.advance(HOUR)
      const second = await given.activate({ temporarySeconds: 120 })
      same(second.temporaryUntil, clock.in(2 * MINUTE), 'the end of the replacement')
      same((await given.activate()).temporaryUntil, null, 'without a term')
      same((await store.findActive(at))?.temporaryUntil, null, 'the active row')
    },

    'end on the last valid date at the latest': async (given) => {
      const { store, clock, at } = given
      clock.moveTo(new Date(END_OF_TIME.getTime() - HOUR))
      const row = await given.activate({ temporarySeconds: 31_536_000, expiresAt: END_OF_TIME })
      same(row.temporaryUntil, END_OF_TIME, 'after a confirm')
      same(await store.findActive(at), row, 'the active row')
      await store.update({ ...at, temporarySeconds: null })
      const updated = await store.update({ ...at, temporarySeconds: 31_536_000 })
      same(updated?.temporaryUntil, END_OF_TIME, 'after an update')
    },

    'are past their end from its very millisecond: no update, transfer or keep finds them': async (given) => {
      const { store, clock, scope, otherScope, at } = given
      const { id } = await given.activate({ temporarySeconds: 60 })
      clock.advance(MINUTE - 1)
      const before = await store.update({ ...at, filename: 'just before' })
      sameFields(before, { filename: 'just before', temporaryUntil: clock.in(1) }, 'a millisecond before')
      clock.advance(1)
      same(await store.update({ ...at, temporarySeconds: null }), null, 'update')
      same(await store.transfer({ ...at, from: scope, to: otherScope }), null, 'transfer')
      same(await store.transfer({ ...at, from: otherScope, to: scope }), null, 'transfer to the owner')
      await refused(() => store.keep({ scope, objects: [{ id }] }), 'OBJECT_NOT_FOUND', { missing: '0' })
      same(await store.findActive(at), before, 'the active row')
    },

    'count, and are returned by reads, until they are removed': async (given) => {
      const { store, clock, scope, at } = given
      const row = await given.activate({ temporarySeconds: 60 })
      clock.advance(DAY)
      same(await store.find(at), row, 'find')
      same(await store.findById({ id: row.id }), row, 'findById')
      same((await store.listByScope({ scope })).objects, [row], 'listByScope')
      sameFields(await store.getScopeUsage(scope), { bytes: 10, files: 1 }, 'usage')
      same(await store.listExpired(), [], 'listExpired')
    },

    'keep their end in a transfer before it': async (given) => {
      const { store, clock, scope, otherScope, at } = given
      const { temporaryUntil } = await given.activate({ temporarySeconds: 60 })
      const row = await store.transfer({ ...at, from: scope, to: otherScope })
      same(row?.temporaryUntil, temporaryUntil, 'the end')
      same(
        await store.listTemporary({ scope: otherScope, before: clock.in(HOUR) }),
        [row],
        'of the new scope',
      )
      same(await store.listTemporary({ scope, before: clock.in(HOUR) }), [], 'of the old scope')
      await refused(() => store.keep({ scope, objects: [row!] }), 'OBJECT_NOT_FOUND', { missing: '0' })
      same(await store.findActive(at), row, 'the active row')
    },

    'have no end in history': async (given) => {
      const { store, clock, at } = given
      await given.activate({ temporarySeconds: 60 })
      const soft = await store.remove(at)
      same(soft?.temporaryUntil, null, 'a soft removal')
      same(await store.find(at), soft, 'the history')
      const row = await given.activate({ temporarySeconds: 60 })
      same(await store.remove({ ...at, mode: 'hard' }), row, 'a hard removal')
      same(await store.listTemporary({ before: clock.in(HOUR) }), [], 'listTemporary')
    },

    'end from now on by an update, stay with null, and keep their end otherwise': async (given) => {
      const { store, clock, at } = given
      await given.activate()
      clock.advance(MINUTE)
      const ending = await store.update({ ...at, temporarySeconds: 3600 })
      const changes = { temporaryUntil: clock.in(HOUR), updatedAt: clock.now() }
      sameFields(ending, changes, 'with seconds')
      same(await store.listTemporary({ before: clock.in(HOUR) }), [ending], 'listTemporary')
      clock.advance(MINUTE)
      const named = await store.update({ ...at, filename: 'name' })
      same(named?.temporaryUntil, changes.temporaryUntil, 'with another field')
      const stays = await store.update({ ...at, temporarySeconds: null })
      sameFields(stays, { temporaryUntil: null, updatedAt: clock.now() }, 'with null')
      same(await store.listTemporary({ before: END_OF_TIME }), [], 'listTemporary after null')
      clock.advance(MINUTE)
      same(await store.update({ ...at, temporarySeconds: null }), stays, 'with null again')
    },
  },
}

export const listTemporaryCases: CaseGroup = {
  title: 'listTemporary',
  cases: {
    'lists objects up to and including a date, now by default, by end and id': async (given) => {
      const { store, clock, scope } = given
      const ids = [3, 1, 2].map(() => given.newId())
      const rows = []
      for (const [index, seconds] of [
        [2, 60],
        [0, 60],
        [1, 30],
      ] as const) {
        rows.push(await given.activate({ key: `key ${index}`, id: ids[index]!, temporarySeconds: seconds }))
      }
      const [last, second, first] = rows
      await given.activate({ key: 'stays' })
      await given.reserve({ key: 'pending', temporarySeconds: 1 })
      const all = [first, second, last]
      same(await store.listTemporary(), [], 'before any end')
      same(await store.listTemporary({ before: clock.in(MINUTE - 1) }), [first], 'just before')
      same(await store.listTemporary({ before: clock.in(MINUTE) }), all, 'a date that lies ahead')
      clock.advance(MINUTE)
      same(await store.listTemporary(), all, 'at their end')
      same(await store.listTemporary({ scope, limit: 2 }), all.slice(0, 2), 'the first page')
      same(await store.listTemporary({ after: second }), [last], 'the next page')
    },

    'lists only objects of the given scope': async (given) => {
      const { store, clock, scope, otherScope } = given
      const own = await given.activate({ temporarySeconds: 60 })
      const others = await given.activate({ key: 'another', scope: otherScope, temporarySeconds: 60 })
      clock.advance(HOUR)
      same(await store.listTemporary({ scope }), [own], 'of one scope')
      same(await store.listTemporary({ scope: otherScope }), [others], 'of the other scope')
      same(await store.listTemporary({ scope: null }), [own, others], 'without a scope')
    },
  },
}
