import type { Leftover } from '../../../src/core/store/records.js'
import { same } from '../assertions.js'
import { HOUR, SECOND } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { numbers } from '../given.js'

export const scopedLeftoverCases: CaseGroup = {
  title: 'leftovers by scope',
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
