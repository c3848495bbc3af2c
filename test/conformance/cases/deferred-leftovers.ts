import type { Leftover } from '../../../src/core/store/records.js'
import { same } from '../assertions.js'
import { HOUR, SECOND } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { allOf, numbers } from '../given.js'
import { released } from './released.js'

export const deferredLeftoverCases: CaseGroup = {
  title: 'deferLeftover',
  cases: {
    'stores when the leftover is due, and returns whether it exists': async (given) => {
      const { store, clock } = given
      const [first, second] = await released(given, 2)
      const until = clock.in(HOUR)
      same(await store.deferLeftover({ attemptId: first!.attemptId, until }), true, 'of a leftover')
      same(await store.deferLeftover({ attemptId: given.newId(), until }), false, 'of an unknown attempt')
      same(await given.leftovers(), [{ ...first, dueAt: until }, second], 'the leftovers')
      const earlier = clock.in(-HOUR)
      same(await store.deferLeftover({ attemptId: first!.attemptId, until: earlier }), true, 'a repeat')
      same((await given.leftovers())[0]?.dueAt, earlier, 'dueAt')
      await store.forgetLeftover(first!)
      same(await store.deferLeftover({ attemptId: first!.attemptId, until }), false, 'of a forgotten one')
    },

    'puts off only a leftover that is due, if dueBefore is given': async (given) => {
      const { store, clock } = given
      const { attemptId } = (await released(given, 1))[0]!
      const due = clock.now()
      const take = (until: Date, dueBefore: Date | null) =>
        store.deferLeftover({ attemptId, until, dueBefore })
      same(await take(due, clock.in(-HOUR)), true, 'of one that was never put off')
      same(await take(clock.in(HOUR), new Date(due.getTime() - 1)), false, 'a millisecond before')
      same((await given.leftovers())[0]?.dueAt, due, 'dueAt, which has not changed')
      same(await take(clock.in(HOUR), due), true, 'at the time')
      same(await take(clock.in(2 * HOUR), due), false, 'of one that was taken')
      same(await take(clock.in(2 * HOUR), null), true, 'without')
    },

    'sets readableUntil if it is given, for a leftover that it puts off': async (given) => {
      const { store, clock } = given
      const [leftover, other] = await released(given, 2)
      const readableUntil = clock.in(HOUR)
      const dueAt = clock.now()
      await store.deferLeftover({ ...leftover!, until: dueAt, readableUntil })
      const deferred = { ...leftover, dueAt, readableUntil }
      same(await given.leftovers(), [deferred, other], 'with it')
      await store.deferLeftover({ attemptId: leftover!.attemptId, until: dueAt })
      same(await given.leftovers(), [deferred, other], 'without it')
      const early = { until: dueAt, readableUntil: dueAt, dueBefore: new Date(dueAt.getTime() - 1) }
      same(await store.deferLeftover({ ...leftover!, ...early }), false, 'of one that is not due')
      same(await given.leftovers(), [deferred, other], 'of one that is not due')
    },

    'gives a leftover that is due to one of several calls': async (given) => {
      const { store, clock } = given
      const { attemptId } = (await released(given, 1))[0]!
      const input = { attemptId, until: clock.in(HOUR), dueBefore: clock.now() }
      const taken = await allOf(numbers(8).map(() => store.deferLeftover(input)))
      same(taken.filter(Boolean).length, 1, 'calls that return true')
    },

    'does nothing for an attempt that is live': async (given) => {
      const { store, clock } = given
      const { id } = await given.reserve({ storageKey: 'stored' })
      same(await store.deferLeftover({ attemptId: id, until: clock.in(HOUR) }), false, 'while pending')
      await given.confirm()
      same(await store.deferLeftover({ attemptId: id, until: clock.in(HOUR) }), false, 'while active')
      await store.remove(given.at)
      same((await given.leftovers())[0]?.dueAt, null, 'dueAt of its leftover')
    },

    'leaves leftovers out of lists with dueBefore until they are due': async (given) => {
      const { store, clock } = given
      const [first, second] = await released(given, 2)
      const until = clock.in(HOUR)
      await store.deferLeftover({ attemptId: first!.attemptId, until })
      const due = async (dueBefore: Date) => (await store.listLeftovers({ dueBefore })).map(({ key }) => key)
      same(await due(clock.in(-HOUR)), ['key 1'], 'long before')
      same(await due(new Date(until.getTime() - 1)), ['key 1'], 'a millisecond before')
      same(await due(until), ['key 1', 'key 0'], 'at the time')
      same(await store.listLeftovers({ dueBefore: null }), [{ ...first, dueAt: until }, second], 'without')
    },

    'lists those never put off first, by attempt; then by when they are due, then by attempt': async (
      given,
    ) => {
      const { store, clock } = given
      const ids = numbers(6).map(() => given.newId())
      await given.reserveEach(ids.map((id, index) => ({ id, storageKey: `stored ${index}` })))
      for (const index of [5, 4, 3, 2, 1, 0]) {
        await store.release({ bucket: 'bucket', key: `key ${index}` })
        clock.advance(SECOND)
      }
      const later = clock.in(HOUR)
      const sooner = clock.in(-HOUR)
      for (const index of [3, 1]) await store.deferLeftover({ attemptId: ids[index]!, until: later })
      for (const index of [4, 2]) await store.deferLeftover({ attemptId: ids[index]!, until: sooner })
      const expected = [0, 5, 2, 4, 1, 3].map((index) => ids[index]!)
      const all = await store.listLeftovers({ dueBefore: later })
      const listed = all.map(({ attemptId }) => attemptId)
      same(listed, expected, 'attempts')

      const pages: Leftover[][] = [await store.listLeftovers({ dueBefore: later, limit: 1 })]
      while (pages.at(-1)!.length > 0 && pages.length < 9) {
        pages.push(await store.listLeftovers({ dueBefore: later, limit: 1, after: pages.at(-1)!.at(-1) }))
      }
      same(pages.flat(), all, 'the leftovers of all pages')
      const { dueAt, attemptId } = all[2]!
      const [next] = await store.listLeftovers({ dueBefore: later, limit: 1, after: { dueAt, attemptId } })
      same(next?.attemptId, expected[3], 'the attempt after a bare position')
    },

    'lists only due leftovers of the given scope': async (given) => {
      const { store, clock, scope, otherScope } = given
      await released(given, 2)
      await given.reserve({ key: 'other', scope: otherScope, storageKey: 'other' })
      await store.release({ bucket: 'bucket', key: 'other' })
      const [first] = await given.leftovers()
      await store.deferLeftover({ attemptId: first!.attemptId, until: clock.in(HOUR) })
      const due = async (of: string) =>
        (await store.listLeftovers({ scope: of, dueBefore: clock.now() })).map(({ key }) => key)
      same(await due(scope), ['key 1'], 'of the scope')
      same(await due(otherScope), ['other'], 'of the other scope')
    },

    'lists 100 at a time by default': async (given) => {
      const { store, clock } = given
      await allOf(
        numbers(101).map((index) => given.reserve({ key: `key ${index}`, storageKey: `s ${index}` })),
      )
      clock.advance(HOUR)
      await store.purgeExpired({ limit: 1000 })
      const dueBefore = clock.now()
      same((await store.listLeftovers({ dueBefore })).length, 100, 'leftovers by default')
      same((await store.listLeftovers({ dueBefore, limit: 1000 })).length, 101, 'with a limit of 1000')
    },
  },
}
