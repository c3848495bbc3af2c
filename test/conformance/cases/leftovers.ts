import { refused, same } from '../assertions.js'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import type { CaseGroup, Given } from '../given.js'
import { released } from './released.js'

/** The attempts of all leftovers, in the order of the list. */
async function attempts(given: Given): Promise<string[]> {
  return (await given.leftovers()).map(({ attemptId }) => attemptId)
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
