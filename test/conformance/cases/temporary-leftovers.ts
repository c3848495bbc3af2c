import type { Leftover } from '../../../src/core/store/records.js'
import { same } from '../assertions.js'
import { HOUR, MINUTE } from '../clock.js'
import type { CaseGroup, Given } from '../given.js'

const DAY = 24 * HOUR

export const temporaryLeftoverCases: CaseGroup = {
  title: 'leftovers of temporary objects',
  cases: {
    'have the end that a replaced object had then, and that of no other attempt': async (given) => {
      const { store, clock, scope, at } = given
      const replace = (temporarySeconds: number | null) =>
        given.activate({ storageKey: given.newId(), temporarySeconds })
      await replace(null)
      same(await endOfNext(given, () => replace(null)), null, 'of an object without an end')
      await store.update({ ...at, temporarySeconds: 60 })
      same(await endOfNext(given, () => replace(3600)), clock.in(MINUTE), 'of an end that an update has set')
      const end = clock.in(HOUR)
      clock.advance(DAY)
      same(await endOfNext(given, () => replace(60)), end, 'of an end that is over')
      const { id } = (await store.findActive(at))!
      await store.keep({ scope, objects: [{ id }] })
      same(await endOfNext(given, () => replace(null)), null, 'of an object that was kept')
    },

    'have the end of an object that is removed, in both modes': async (given) => {
      const { store, clock, at } = given
      for (const mode of ['soft', 'hard'] as const) {
        await given.activate({ storageKey: mode, temporarySeconds: 60 })
        const end = clock.in(MINUTE)
        clock.advance(1)
        same(await endOfNext(given, () => store.remove({ ...at, mode })), end, `a ${mode} remove`)
      }
    },

    'have the end of an object that has come to it, in both modes': async (given) => {
      const { store, clock } = given
      for (const mode of ['soft', 'hard'] as const) {
        const row = await given.activate({ storageKey: mode, temporarySeconds: 60 })
        const end = clock.in(MINUTE)
        clock.advance(HOUR)
        same(await endOfNext(given, () => store.endTemporary({ objects: [row], mode })), end, mode)
      }
    },

    'have no end of an upload that ends, whatever its terms': async (given) => {
      const { store, clock, at } = given
      const terms = { temporarySeconds: 60, checkSeconds: 60 }
      const upload = () => given.reserve({ storageKey: given.newId(), ...terms })
      await upload()
      same(await endOfNext(given, () => store.release(at)), null, 'released')
      await upload()
      same(await endOfNext(given, () => store.remove(at)), null, 'removed')
      await upload()
      same(await endOfNext(given, upload), null, 'displaced')
      clock.advance(2 * HOUR)
      same(await endOfNext(given, () => store.purgeExpired()), null, 'expired')
      const { id } = await given.arrive(terms)
      same(await endOfNext(given, () => store.reject({ ...at, id })), null, 'rejected')
      await given.activate({ storageKey: 'object', temporarySeconds: 60 })
      await given.arrive(terms)
      clock.advance(1)
      await store.remove(at)
      same(
        (await given.leftovers()).slice(-2).filter(({ readableUntil }) => readableUntil).length,
        1,
        'removed along',
      )
    },

    'have it in every list, also once they are put off': async (given) => {
      const { store, clock, at } = given
      const { attemptId } = await given.activate({ storageKey: 'stored', temporarySeconds: 60 })
      const readableUntil = clock.in(MINUTE)
      await store.remove(at)
      for (const dueAt of [null, clock.now()]) {
        if (dueAt) await store.deferLeftover({ attemptId, until: dueAt })
        const [leftover] = await given.leftovers()
        same(leftover, { ...leftover!, dueAt, readableUntil }, 'listLeftovers')
        same(await store.listLeftovers({ scope: given.scope }), [leftover], 'listLeftovers of the scope')
        same(
          await store.listLeftovers({ dueBefore: clock.now() }),
          [leftover],
          'listLeftovers with dueBefore',
        )
        same((await store.listStored({ bucket: at.bucket }))[0]?.leftover, leftover, 'listStored')
      }
    },
  },
}

/** Returns the `readableUntil` of the leftover that a call records. */
async function endOfNext(given: Given, call: () => Promise<unknown>): Promise<Date | null | undefined> {
  const before = new Set((await given.leftovers()).map(({ attemptId }) => attemptId))
  await call()
  const isNew = ({ attemptId }: Leftover) => !before.has(attemptId)
  return (await given.leftovers()).find(isNew)?.readableUntil
}
