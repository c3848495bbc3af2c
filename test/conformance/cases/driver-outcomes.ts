import type { StoredEvent } from '../../../src/core/store/events.js'
import { holds, same } from '../assertions.js'
import { HOUR } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { allOf, numbers } from '../given.js'
import { claimOne, claimsOf, keysOf, objectsAt, versions } from './claimed-events.js'

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

export const settledOutcomeCases: CaseGroup = {
  title: 'outcomes of settled events',
  needs: 'driver',
  events: true,
  cases: {
    'say whether the object has a later event': async (given) => {
      const { store, place } = given
      await versions(given, ['first', 'second'])
      await objectsAt(given, ['other'])
      const claimed = await store.claimEvents()
      place.reported!.take()
      await store.settleEvents(claimsOf(claimed))
      const { settled } = place.reported!.take()
      const later = claimed.filter(({ id }) => settled.some((event) => event.id === id && event.hasNext))
      same(keysOf(later), ['key'], 'the keys with a later event')
    },

    'call a later event of the object, if the one who has recorded it could not claim it': async (given) => {
      const { store, place } = given
      const { bucket, key } = await given.activate()
      for (const number of numbers(10)) {
        const event = await claimOne(given)
        place.reported!.take()
        const claims: StoredEvent[] = []
        const change = async () => {
          await store.update({ bucket, key, filename: `version ${number}` })
          claims.push(...(await store.claimEvents({ bucket, key })))
        }
        await allOf<unknown>([store.settleEvents(claimsOf([event])), change()])
        const [settled] = place.reported!.take().settled
        const isTold = settled?.hasNext === true || claims.length === 1
        holds(isTold, '`hasNext` misses an event that could not be claimed before the settlement had ended')
        // Due again, for the next round.
        await store.settleEvents(claimsOf(claims).map((each) => ({ ...each, retryAt: given.clock.now() })))
      }
    },
  },
}
