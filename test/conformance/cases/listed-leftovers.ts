import type { Leftover } from '../../../src/core/store/records.js'
import { same } from '../assertions.js'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { allOf, numbers } from '../given.js'
import { released } from './released.js'

/** Cases of lists without a filter. */
export const listedLeftoverCases: CaseGroup = {
  title: 'leftovers',
  cases: {
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
        (await given.leftovers()).map(({ attemptId }) => attemptId),
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
  },
}
