import type { Leftover } from '../../../src/core/store/records.js'
import { refused, same } from '../assertions.js'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import type { CaseGroup, Given } from '../given.js'
import { allOf, numbers } from '../given.js'

/** The attempts of all leftovers, in the order of the list. */
async function attempts(given: Given): Promise<string[]> {
  return (await given.leftovers()).map(({ attemptId }) => attemptId)
}

async function released(given: Given, count: number): Promise<Leftover[]> {
  for (const index of numbers(count)) {
    await given.reserve({ key: `key ${index}`, storageKey: `stored ${index}` })
    await given.store.release({ bucket: 'bucket', key: `key ${index}` })
    given.clock.advance(SECOND)
  }
  return given.leftovers()
}

export const leftoverCases: CaseGroup = {
  title: 'leftovers',
  cases: {
    "don't exist before an attempt ends": async (given) => {
      await given.activate({ storageKey: 'stored' })
      await given.reserve({ key: 'another', storageKey: 'another', uploadId: 'upload' })
      same(await given.store.listLeftovers(), [])
    },

    'record a released attempt, with the time it ended and the time until which it could write': async (
      given,
    ) => {
      const { store, clock, at } = given
      const expiresAt = clock.in(HOUR)
      const { id } = await given.reserve({ storageKey: 'stored', uploadId: 'upload', expiresAt })
      clock.advance(MINUTE)
      await store.release(at)
      const since = clock.now()
      clock.advance(MINUTE)
      const leftover = { attemptId: id, storageKey: 'stored', uploadId: 'upload', since }
      same(await store.listLeftovers(), [given.leftover({ ...leftover, writableUntil: expiresAt })])
      same(await store.listLeftovers({}), [given.leftover({ ...leftover, writableUntil: expiresAt })])
    },

    'record attempts with only a storage key or only an upload id': async (given) => {
      const { store } = given
      for (const part of [{ storageKey: 'stored' }, { uploadId: 'upload' }]) {
        await given.reserve(part)
        await store.release(given.at)
        given.clock.advance(SECOND)
      }
      const parts = (await given.leftovers()).map(({ storageKey, uploadId }) => ({ storageKey, uploadId }))
      same(parts, [
        { storageKey: 'stored', uploadId: null },
        { storageKey: null, uploadId: 'upload' },
      ])
    },

    'record an upload id that was set later': async (given) => {
      const { store, at } = given
      const { id } = await given.reserve()
      await store.setUploadId({ ...at, id, uploadId: 'upload' })
      await store.release(at)
      same(
        (await given.leftovers()).map(({ uploadId }) => uploadId),
        ['upload'],
        'upload ids',
      )
    },

    "don't record attempts with neither a storage key nor an upload id": async (given) => {
      const { store, clock, at, otherScope } = given
      await given.reserve()
      await given.reserve()
      await store.release(at)
      await given.activate()
      await given.activate()
      await given.reserve()
      await store.remove(at)
      await given.activate()
      await store.remove({ ...at, mode: 'hard' })
      await given.reserve()
      clock.advance(2 * HOUR)
      await given.reserve({ scope: otherScope })
      clock.advance(2 * HOUR)
      await store.purgeExpired()
      same(await given.leftovers(), [])
    },

    'record a displaced attempt': async (given) => {
      const { clock } = given
      const first = await given.reserve({ storageKey: 'first', uploadId: 'upload' })
      clock.advance(MINUTE)
      await given.reserve({ storageKey: 'second' })
      same(await given.leftovers(), [
        given.leftover({
          attemptId: first.id,
          storageKey: 'first',
          uploadId: 'upload',
          since: clock.now(),
          writableUntil: first.expiresAt!,
        }),
      ])
    },

    'record a displaced replacement, but not the object': async (given) => {
      await given.activate({ storageKey: 'object' })
      const { id } = await given.reserve({ storageKey: 'first' })
      await given.reserve({ storageKey: 'second' })
      same(await attempts(given), [id], 'attempts')
    },

    "record another scope's expired reservation that was taken over": async (given) => {
      const { clock, otherScope } = given
      const { id, expiresAt } = await given.reserve({ storageKey: 'stored', uploadId: 'upload' })
      clock.advance(2 * HOUR)
      await given.reserve({ scope: otherScope })
      const leftover = { attemptId: id, storageKey: 'stored', uploadId: 'upload' }
      same(await given.leftovers(), [
        given.leftover({ ...leftover, since: clock.now(), writableUntil: expiresAt! }),
      ])
    },

    'record a purged reservation': async (given) => {
      const { store, clock } = given
      const { id, expiresAt } = await given.reserve({ storageKey: 'stored', uploadId: 'upload' })
      clock.advance(2 * HOUR)
      await store.purgeExpired()
      const leftover = { attemptId: id, storageKey: 'stored', uploadId: 'upload' }
      same(await given.leftovers(), [
        given.leftover({ ...leftover, since: clock.now(), writableUntil: expiresAt! }),
      ])
    },

    'record a replaced object under the attempt that created it, without its upload id': async (given) => {
      const { clock } = given
      const first = await given.reserve({ storageKey: 'first', uploadId: 'upload' })
      await given.confirm()
      clock.advance(MINUTE)
      const second = await given.reserve({ storageKey: 'second', expiresAt: clock.in(2 * HOUR) })
      same(await given.leftovers(), [], 'leftovers while the replacement is pending')
      clock.advance(MINUTE)
      await given.confirm()
      const leftover = { attemptId: first.id, storageKey: 'first', uploadId: null }
      const ofFirst = given.leftover({ ...leftover, since: clock.now(), writableUntil: first.expiresAt! })
      same(await given.leftovers(), [ofFirst])
      clock.advance(MINUTE)
      await given.activate({ storageKey: 'third' })
      const ofSecond = { ...leftover, attemptId: second.id, storageKey: 'second' }
      same(await given.leftovers(), [
        ofFirst,
        given.leftover({ ...ofSecond, since: clock.now(), writableUntil: second.expiresAt! }),
      ])
    },

    "don't record a confirmed upload": async (given) => {
      await given.activate({ uploadId: 'upload' })
      await given.activate({ uploadId: 'another' })
      await given.store.remove(given.at)
      same(await given.leftovers(), [])
    },

    'record a removed object in both modes': async (given) => {
      const { store, clock, at } = given
      for (const mode of ['soft', 'hard'] as const) {
        const { id, expiresAt } = await given.reserve({ storageKey: mode, uploadId: 'upload' })
        await given.confirm()
        clock.advance(MINUTE)
        await store.remove({ ...at, mode })
        const leftover = { attemptId: id, storageKey: mode, uploadId: null }
        const last = (await given.leftovers()).at(-1)
        same(
          last,
          given.leftover({ ...leftover, since: clock.now(), writableUntil: expiresAt! }),
          `leftover of a ${mode} remove`,
        )
      }
    },

    'record both a removed object and its pending replacement': async (given) => {
      const { store, clock, at } = given
      for (const mode of ['soft', 'hard'] as const) {
        const active = await given.activate({ storageKey: `object ${mode}` })
        const pending = await given.reserve({ storageKey: `replacement ${mode}`, uploadId: 'upload' })
        clock.advance(MINUTE)
        await store.remove({ ...at, mode })
        const since = clock.now()
        const writableUntil = pending.expiresAt!
        const both = (await given.leftovers()).slice(-2)
        same(both, [
          given.leftover({
            attemptId: active.id,
            storageKey: `object ${mode}`,
            uploadId: null,
            since,
            writableUntil,
          }),
          given.leftover({
            attemptId: pending.id,
            storageKey: `replacement ${mode}`,
            uploadId: 'upload',
            since,
            writableUntil,
          }),
        ])
      }
    },

    'record a removed pending row': async (given) => {
      const { id } = await given.reserve({ storageKey: 'stored' })
      await given.store.remove(given.at)
      same(await attempts(given), [id], 'attempts')
    },

    "aren't recorded by refused calls": async (given) => {
      const { store, at, otherScope } = given
      await given.activate({ storageKey: 'object' })
      const { id } = await given.reserve({ storageKey: 'stored', uploadId: 'upload' })
      await refused(() => given.reserve({ overwrite: false }), 'KEY_CONFLICT')
      await refused(() => given.reserve({ scope: otherScope }), 'KEY_CONFLICT')
      await refused(() => given.reserve({ declaredSize: 99, quota: { maxBytes: 0 } }), 'QUOTA_EXCEEDED')
      await refused(() => given.confirm({ size: 99, quota: { maxBytes: 0 } }), 'QUOTA_EXCEEDED')
      await store.release({ ...at, uploadId: 'another' })
      await store.remove({ ...at, scope: otherScope })
      await given.reserve({ id, storageKey: 'stored too' })
      same(await given.leftovers(), [])
    },

    'are listed oldest first, and by attempt if they have the same date': async (given) => {
      const { store, clock } = given
      const ids = numbers(5).map(() => given.newId())
      await given.reserveEach(ids.map((id, index) => ({ id, storageKey: `stored ${index}` })))
      const release = (index: number) => store.release({ bucket: 'bucket', key: `key ${index}` })
      await release(3)
      clock.advance(SECOND)
      for (const index of [4, 0, 2]) await release(index)
      clock.advance(-MINUTE)
      await release(1)
      same(
        await attempts(given),
        [1, 3, 0, 2, 4].map((index) => ids[index]!),
        'attempts',
      )
    },

    'are listed in pages that start after the last item of the previous page': async (given) => {
      const { store } = given
      const all = await released(given, 5)
      same(all.length, 5, 'number of leftovers')
      const first = await store.listLeftovers({ limit: 2 })
      same(first, all.slice(0, 2), 'the first page')
      same(await store.listLeftovers({ limit: 2, after: first[1] }), all.slice(2, 4), 'the second page')
      await store.forgetLeftover(all[3]!)
      same(
        await store.listLeftovers({ limit: 2, after: all[3] }),
        all.slice(4),
        'the page after a forgotten leftover',
      )
      const { since, attemptId } = all[0]!
      same(
        await store.listLeftovers({ limit: 1, after: { since, attemptId } }),
        [all[1]],
        'after a bare position',
      )
      same((await store.listLeftovers({ after: null })).length, 4, 'leftovers without a position')
    },

    'are listed in pages even if all have the same date': async (given) => {
      const { store, clock } = given
      await given.reserveEach(
        numbers(5).map((index) => ({ id: given.newId(), storageKey: `stored ${index}` })),
      )
      clock.advance(HOUR)
      await store.purgeExpired()
      const all = await given.leftovers()
      const pages: Leftover[][] = [await store.listLeftovers({ limit: 2 })]
      while (pages.at(-1)!.length > 0 && pages.length < 9) {
        pages.push(await store.listLeftovers({ limit: 2, after: pages.at(-1)!.at(-1) }))
      }
      same(pages.flat(), all, 'the leftovers of all pages')
    },

    'are listed 100 at a time by default': async (given) => {
      const { store, clock } = given
      await allOf(
        numbers(101).map((index) => given.reserve({ key: `key ${index}`, storageKey: `s ${index}` })),
      )
      clock.advance(HOUR)
      await store.purgeExpired({ limit: 1000 })
      same((await store.listLeftovers()).length, 100, 'leftovers by default')
      same((await store.listLeftovers({ limit: 1000 })).length, 101, 'leftovers with a limit of 1000')
    },

    'are kept until they are forgotten, which succeeds once': async (given) => {
      const { store } = given
      const [first, second] = await released(given, 2)
      same(await store.forgetLeftover({ attemptId: first!.attemptId }), true, 'the first time')
      same(await store.forgetLeftover({ attemptId: first!.attemptId }), false, 'the second time')
      same(await store.forgetLeftover({ attemptId: given.newId() }), false, 'of an unknown attempt')
      same(await given.leftovers(), [second])
    },

    "can't be forgotten while the row is live": async (given) => {
      const { store } = given
      const { id } = await given.reserve({ storageKey: 'stored' })
      same(await store.forgetLeftover({ attemptId: id }), false, 'of a pending attempt')
      await given.confirm()
      same(await store.forgetLeftover({ attemptId: id }), false, 'of a confirmed attempt')
      await store.remove(given.at)
      same(await store.forgetLeftover({ attemptId: id }), true, 'of a removed object')
    },

    'outlive the history of their object': async (given) => {
      const { store, clock } = given
      const { attemptId } = await given.history({ storageKey: 'stored' })
      await store.purgeDeleted({ before: clock.now() })
      same(await attempts(given), [attemptId], 'attempts')
    },
  },
}

export const scopedLeftoverCases: CaseGroup = {
  title: 'leftovers by scope',
  since: '1.6',
  cases: {
    'record the scope of the attempt, also if another scope takes its key over': async (given) => {
      const { store, clock, at, scope, otherScope } = given
      await given.reserve({ storageKey: 'taken over' })
      clock.advance(2 * HOUR)
      await given.activate({ scope: otherScope, storageKey: 'removed', expiresAt: clock.in(HOUR) })
      await store.remove(at)
      const found = (await given.leftovers()).map((each) => [each.storageKey, each.scope])
      same(found, [
        ['taken over', scope],
        ['removed', otherScope],
      ])
    },

    'list only leftovers of the given scope, in pages': async (given) => {
      const { store, clock, scope, otherScope } = given
      for (const index of numbers(6)) {
        const key = `key ${index}`
        await given.reserve({ key, storageKey: key, scope: index % 2 === 0 ? scope : otherScope })
        await store.release({ bucket: 'bucket', key })
        clock.advance(SECOND)
      }
      const keysOf = (leftovers: readonly Leftover[]) => leftovers.map(({ key }) => key)
      const first = await store.listLeftovers({ scope, limit: 2 })
      same(keysOf(first), ['key 0', 'key 2'], 'the first page')
      same(keysOf(await store.listLeftovers({ scope, after: first[1] })), ['key 4'], 'the second page')
      const others = await store.listLeftovers({ scope: otherScope })
      same(keysOf(others), ['key 1', 'key 3', 'key 5'], 'the leftovers of the other scope')
      same(await store.listLeftovers({ scope: 'unknown' }), [], 'the leftovers of an unknown scope')
      same((await store.listLeftovers({ scope: null })).length, 6, 'leftovers without a scope')
    },
  },
}

export const deferredLeftoverCases: CaseGroup = {
  title: 'deferLeftover',
  since: '1.6',
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
