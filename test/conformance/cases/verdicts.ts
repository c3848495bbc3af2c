import { holds, refused, same } from '../assertions.js'
import { HOUR } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { allOf, NO_USAGE, numbers } from '../given.js'
import { observed } from '../outcome.js'

export const rejectCases: CaseGroup = {
  title: 'reject',
  cases: {
    'ends an arrived attempt, and returns its row': async (given) => {
      const { store, clock, scope, at } = given
      const row = await given.arrive()
      clock.advance(24 * HOUR)
      same(await store.reject({ ...at, id: row.id, scope }), row)
      same(await store.find(at), null, 'the result of find')
      same(await store.listArrived(), [], 'listArrived')
      same(
        (await given.leftovers()).map(({ attemptId }) => attemptId),
        [row.id],
        'leftovers',
      )
      same(await store.getScopeUsage(scope), NO_USAGE, 'usage')
    },

    'leaves the object that the attempt would replace': async (given) => {
      const { store, at } = given
      const active = await given.activate()
      const { id } = await given.arrive()
      await store.reject({ ...at, id })
      same(await store.find(at), active, 'the result of find')
    },

    'makes confirms of the attempt fail with the reason for an hour, whatever happens at the key': async (
      given,
    ) => {
      const { store, clock, scope, otherScope, at } = given
      const { id } = await given.arrive()
      await store.reject({ ...at, id, reason: 'a virus' })
      const confirm = (owner: string | null) => () => given.confirm({ id, scope: owner })
      await refused(confirm(null), 'UPLOAD_REJECTED', { reason: 'a virus' })
      await given.activate({ scope: otherScope })
      clock.advance(HOUR - 1)
      await refused(confirm(scope), 'UPLOAD_REJECTED', { reason: 'a virus' })
      await refused(confirm(otherScope), 'OBJECT_NOT_FOUND')
      await refused(() => given.confirm({ id, key: 'another' }), 'OBJECT_NOT_FOUND')
      clock.advance(1)
      await refused(confirm(scope), 'OBJECT_NOT_FOUND')
    },

    'needs no reason': async (given) => {
      const { store, at } = given
      const { id } = await given.arrive()
      await store.reject({ ...at, id })
      const outcome = await observed(() => given.confirm({ id }))
      const params = 'params' in outcome ? (outcome.params ?? {}) : {}
      same(['error' in outcome && outcome.error, 'reason' in params], ['UPLOAD_REJECTED', false], 'the error')
    },

    'refuses a second verdict, and a verdict on another attempt or owner': async (given) => {
      const { store, otherScope, at } = given
      const row = await given.arrive()
      await refused(() => store.reject({ ...at, id: given.newId() }), 'OBJECT_NOT_FOUND')
      await refused(() => store.reject({ ...at, id: row.id, scope: otherScope }), 'OBJECT_NOT_FOUND')
      same(await store.findPending(at), row, 'the pending row')
      await store.reject({ ...at, id: row.id })
      await refused(() => store.reject({ ...at, id: row.id }), 'OBJECT_NOT_FOUND')
      await refused(() => given.accept(row), 'OBJECT_NOT_FOUND')
    },

    'refuses an attempt that has not arrived': async (given) => {
      const { store, at } = given
      const pending = await given.reserve({ storageKey: 'stored', checkSeconds: 60 })
      await refused(() => store.reject({ ...at, id: pending.id }), 'OBJECT_NOT_FOUND')
      same(await store.findPending(at), pending, 'the pending row')
    },

    'is forgotten by a purge of the history of its owner': async (given) => {
      const { store, clock, scope, otherScope, at } = given
      const { id } = await given.arrive()
      await store.reject({ ...at, id })
      const before = clock.now()
      await store.purgeDeleted({ scope: otherScope, before })
      await store.purgeDeleted({ scope, before: clock.in(-1) })
      await store.purgeDeleted({ scope, id })
      await refused(() => given.confirm({ id }), 'UPLOAD_REJECTED')
      same(await store.purgeDeleted({ scope, before }), 0, 'the number of purged rows')
      await refused(() => given.confirm({ id }), 'OBJECT_NOT_FOUND')
    },
  },
}

export const verdictEventCases: CaseGroup = {
  title: 'events of checked uploads',
  events: true,
  cases: {
    'are arrived, with the active row, and activated once accepted': async (given) => {
      const first = await given.arrive()
      same(
        await given.takeEvents(),
        [{ type: 'arrived', object: first, previous: null }],
        'the first arrival',
      )
      await given.confirm({ id: first.id })
      same(await given.takeEvents(), [], 'after a repeated confirm')
      const active = await given.accept(first)
      same(await given.takeEvents(), [{ type: 'activated', object: active, previous: null }], 'acceptance')
      const second = await given.arrive()
      same(await given.takeEvents(), [{ type: 'arrived', object: second, previous: active }], 'the second')
      const object = await given.accept(second)
      same(await given.takeEvents(), [{ type: 'activated', object, previous: active }], 'its acceptance')
    },

    'are rejected, with the reason or null': async (given) => {
      const { store, at } = given
      await given.activate()
      for (const reason of ['a virus', null]) {
        const { id } = await given.arrive()
        await given.takeEvents()
        const object = await store.reject({ ...at, id, reason })
        const listed = await store.listEvents()
        same('reason' in listed.items[0]! && listed.items[0].reason, reason, 'the reason in the list')
        same(await given.takeEvents(), [{ type: 'rejected', object, previous: null, reason }], 'the event')
      }
    },

    'are none where an arrived attempt ends otherwise': async (given) => {
      const { store, at } = given
      const ends = [() => given.reserve(), () => store.release(at), () => store.remove(at)]
      for (const end of ends) {
        await given.arrive()
        await given.takeEvents()
        await end()
        same(await given.takeEvents(), [], 'the events')
      }
    },
  },
}

export const verdictRaceCases: CaseGroup = {
  title: 'verdicts and ends at the same time',
  cases: {
    'give an attempt one verdict': async (given) => {
      const { store, at } = given
      for (const number of numbers(5)) {
        const row = await given.arrive({ key: `key ${number}` })
        const reference = { ...at, key: row.key, id: row.id }
        const verdicts = [
          () => store.reject(reference),
          () => given.accept(row),
          () => store.release(reference),
        ]
        const outcomes = await allOf(verdicts.map((verdict) => observed(verdict)))
        const done = outcomes.filter((outcome) => 'ok' in outcome && outcome.ok !== null)
        same(done.length, 1, 'the number of verdicts')
      }
    },

    'keep an object or remove it': async (given) => {
      const { store, clock, scope } = given
      for (const number of numbers(5)) {
        const row = await given.activate({ key: `key ${number}`, temporarySeconds: 60 })
        const { id, key, temporaryUntil } = row
        // The end of the one call has not come yet, and that of the other has.
        const late = clock.in(2 * 60_000)
        const kept = observed(() => store.keep({ scope, objects: [{ id }] }))
        clock.moveTo(late)
        const ended = store.endTemporary({ objects: [row] })
        const [outcome, { removed }] = (await allOf<unknown>([kept, ended])) as [
          object,
          { removed: unknown[] },
        ]
        const active = await store.findActive({ ...given.at, key })
        holds('ok' in outcome ? removed.length === 0 : removed.length === 1, 'both have happened, or neither')
        same(active?.temporaryUntil ?? null, null, 'the end afterwards')
        same(active !== null, 'ok' in outcome, 'whether the object is there')
        holds(temporaryUntil !== null, 'no end')
      }
    },
  },
}
