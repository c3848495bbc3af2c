import { holds, same } from '../assertions.js'
import { HOUR } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { allOf, numbers } from '../given.js'

export const driverOutcomeCases: CaseGroup = {
  title: 'outcomes of the driver',
  needs: 'driver',
  cases: {
    'name both owners if a reserve takes over an expired reservation, if they have `scopes`': async (
      given,
    ) => {
      const { scope, otherScope, place } = given
      await given.reserve()
      given.clock.advance(2 * HOUR)
      place.reported!.take()
      await given.reserve({ scope: otherScope })
      const { scopes } = place.reported!.take()
      if (scopes === null) return
      const found = `expected \`scopes\` to include both scopes, got [${[...scopes].join()}]`
      holds(scopes.has(scope) && scopes.has(otherScope), found)
    },

    'say whether a confirm repeats an earlier one, and what it replaced': async (given) => {
      const { place } = given
      const first = await given.activate()
      const { id } = await given.reserve({ declaredSize: 7 })
      place.reported!.take()
      await given.confirm({ id, size: 7 })
      same(place.reported!.take().confirms, [{ isRepeat: false, replaced: first }], 'the confirm')
      await given.confirm({ id, size: 7 })
      same(place.reported!.take().confirms, [{ isRepeat: true, replaced: null }], 'the repeated confirm')
    },

    'call all but one of the concurrent confirms of an attempt repeats': async (given) => {
      const { id } = await given.reserve()
      given.place.reported!.take()
      await allOf(numbers(4).map(() => given.confirm({ id })))
      const { confirms } = given.place.reported!.take()
      const firsts = confirms.filter(({ isRepeat }) => !isRepeat)
      same([confirms.length, firsts.length], [4, 1], 'all confirms, and those that are no repeat')
    },
  },
}
