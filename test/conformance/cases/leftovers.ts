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
      const leftover = { attemptId: id, ...at, storageKey: 'stored', uploadId: 'upload', since }
      same(await store.listLeftovers(), [{ ...leftover, writableUntil: expiresAt }])
      same(await store.listLeftovers({}), [{ ...leftover, writableUntil: expiresAt }])
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
      const { clock, at } = given
      const first = await given.reserve({ storageKey: 'first', uploadId: 'upload' })
      clock.advance(MINUTE)
      await given.reserve({ storageKey: 'second' })
      same(await given.leftovers(), [
        {
          attemptId: first.id,
          ...at,
          storageKey: 'first',
          uploadId: 'upload',
          since: clock.now(),
          writableUntil: first.expiresAt!,
        },
      ])
    },

    'record a displaced replacement, but not the object': async (given) => {
      await given.activate({ storageKey: 'object' })
      const { id } = await given.reserve({ storageKey: 'first' })
      await given.reserve({ storageKey: 'second' })
      same(await attempts(given), [id], 'attempts')
    },

    "record another scope's expired reservation that was taken over": async (given) => {
      const { clock, at, otherScope } = given
      const { id, expiresAt } = await given.reserve({ storageKey: 'stored', uploadId: 'upload' })
      clock.advance(2 * HOUR)
      await given.reserve({ scope: otherScope })
      const leftover = { attemptId: id, ...at, storageKey: 'stored', uploadId: 'upload' }
      same(await given.leftovers(), [{ ...leftover, since: clock.now(), writableUntil: expiresAt! }])
    },

    'record a purged reservation': async (given) => {
      const { store, clock, at } = given
      const { id, expiresAt } = await given.reserve({ storageKey: 'stored', uploadId: 'upload' })
      clock.advance(2 * HOUR)
      await store.purgeExpired()
      const leftover = { attemptId: id, ...at, storageKey: 'stored', uploadId: 'upload' }
      same(await given.leftovers(), [{ ...leftover, since: clock.now(), writableUntil: expiresAt! }])
    },

    'record a replaced object under the attempt that created it, without its upload id': async (given) => {
      const { clock, at } = given
      const first = await given.reserve({ storageKey: 'first', uploadId: 'upload' })
      await given.confirm()
      clock.advance(MINUTE)
      const second = await given.reserve({ storageKey: 'second', expiresAt: clock.in(2 * HOUR) })
      same(await given.leftovers(), [], 'leftovers while the replacement is pending')
      clock.advance(MINUTE)
      await given.confirm()
      const leftover = { attemptId: first.id, ...at, storageKey: 'first', uploadId: null }
      const ofFirst = { ...leftover, since: clock.now(), writableUntil: first.expiresAt! }
      same(await given.leftovers(), [ofFirst])
      clock.advance(MINUTE)
      await given.activate({ storageKey: 'third' })
      const ofSecond = { ...leftover, attemptId: second.id, storageKey: 'second' }
      same(await given.leftovers(), [
        ofFirst,
        { ...ofSecond, since: clock.now(), writableUntil: second.expiresAt! },
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
        const leftover = { attemptId: id, ...at, storageKey: mode, uploadId: null }
        const last = (await given.leftovers()).at(-1)
        same(
          last,
          { ...leftover, since: clock.now(), writableUntil: expiresAt! },
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
          { attemptId: active.id, ...at, storageKey: `object ${mode}`, uploadId: null, since, writableUntil },
          {
            attemptId: pending.id,
            ...at,
            storageKey: `replacement ${mode}`,
            uploadId: 'upload',
            since,
            writableUntil,
          },
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
