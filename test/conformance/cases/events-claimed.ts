import { holds, refusedField, same } from '../assertions.js'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { numbers } from '../given.js'
import { claimOne, claimsOf, filenamesOf, keysOf, objectsAt, versions } from './claimed-events.js'

export const claimCases: CaseGroup = {
  title: 'claimEvents',
  events: true,
  cases: {
    'returns events with an id, an attempt and a claim of at most 100 characters': async (given) => {
      await objectsAt(given, ['a', 'b'])
      const claimed = await given.store.claimEvents()
      same(claimed.length, 2, 'events')
      for (const { id, claim, attempts } of claimed) {
        holds([...id].length >= 1 && [...id].length <= 100, `the id ${id} has not 1 to 100 characters`)
        holds(
          [...claim].length >= 1 && [...claim].length <= 100,
          `the claim ${claim} has not 1 to 100 characters`,
        )
        same(attempts, 1, 'attempts')
      }
      holds(claimed[0]!.id !== claimed[1]!.id, 'two events have the same id')
    },

    'gives each event its own claim, also those of one call': async (given) => {
      await objectsAt(given, ['a', 'b', 'c'])
      const claims = (await given.store.claimEvents()).map(({ claim }) => claim)
      holds(
        new Set(claims).size === 3,
        `${claims.join(', ')} are not all different: each event needs its own claim, so don't write one token to all`,
      )
    },

    'returns nothing if there are no events': async ({ store }) => {
      same(await store.claimEvents(), [])
      same(await store.claimEvents({ bucket: 'bucket', key: 'key' }), [], 'events of an object')
    },

    'returns the earliest due events first, at most as many as its limit': async (given) => {
      const { store } = given
      await objectsAt(given, ['c', 'a', 'd', 'b'])
      same(keysOf(await store.claimEvents({ limit: 1 })), ['c'], 'the first')
      same(keysOf(await store.claimEvents({ limit: 2 })), ['a', 'd'], 'the next two')
      same(keysOf(await store.claimEvents({ limit: 1000 })), ['b'], 'the rest')
    },

    'returns 100 events by default': async (given) => {
      const { store } = given
      for (const number of numbers(101)) await given.activate({ key: `key ${number}` })
      same((await store.claimEvents()).length, 100, 'events')
      same((await store.claimEvents()).length, 1, 'events of the next call')
    },

    "returns an object's events one at a time, in the order of its changes": async (given) => {
      const { store } = given
      await versions(given, ['first', 'second', 'third'])
      for (const filename of ['first', 'second', 'third']) {
        const claimed = await store.claimEvents()
        same(filenamesOf(claimed), [filename], 'filenames')
        same(await store.claimEvents(), [], 'events while the first is claimed')
        await store.settleEvents(claimsOf(claimed))
      }
      same(await store.claimEvents(), [], 'events at the end')
    },

    'says whether a later event of the object waits': async (given) => {
      const { store } = given
      await versions(given, ['first', 'second', 'third'])
      await given.activate({ key: 'another' })
      for (const hasNext of [true, true, false]) {
        const claimed = await store.claimEvents({ ...given.at, limit: 1 })
        same(
          claimed.map((event) => event.hasNext),
          [hasNext],
          'hasNext',
        )
        await store.settleEvents(claimsOf(claimed))
      }
    },

    'keeps events of different objects apart by bucket and key': async (given) => {
      for (const at of [{}, { bucket: 'another' }, { key: 'another' }, { key: 'KEY' }]) {
        await given.activate(at)
        await given.activate(at)
      }
      same((await given.store.claimEvents()).length, 4, 'events')
    },

    'holds a claim for 60 seconds by default, and up to and excluding its end': async (given) => {
      const { store, clock } = given
      await given.activate()
      for (const claimSeconds of [null, 1, 3600]) {
        const seconds = claimSeconds ?? 60
        same((await store.claimEvents({ claimSeconds })).length, 1, 'events')
        clock.advance(seconds * SECOND - 1)
        same(await store.claimEvents(), [], `events before the end of ${seconds} s`)
        clock.advance(1)
      }
      same((await store.claimEvents()).length, 1, 'events at the end')
    },

    'takes over an expired claim, with another claim and one attempt more': async (given) => {
      const { store, clock } = given
      await given.activate()
      const first = await claimOne(given)
      clock.advance(MINUTE)
      const second = await claimOne(given)
      same({ ...second, claim: '' }, { ...first, attempts: 2, claim: '' })
      holds(second.claim !== first.claim, 'both claims have the same token')
      same(await store.settleEvents(claimsOf([first])), [], 'settled with the first claim')
      same(await store.extendClaims(claimsOf([first])), [], 'extended with the first claim')
      same(await store.settleEvents(claimsOf([second])), [second.id], 'settled with the second claim')
    },

    'sorts expired claims and retries by when they became due': async (given) => {
      const { store, clock } = given
      await objectsAt(given, ['a', 'b', 'c'])
      const [a, b] = await store.claimEvents({ limit: 2, claimSeconds: 180 })
      await store.settleEvents([{ ...claimsOf([b!])[0]!, retryAt: clock.in(2 * MINUTE) }])
      clock.advance(MINUTE)
      await objectsAt(given, ['d'])
      clock.advance(HOUR)
      same(keysOf(await store.claimEvents()), ['c', 'd', 'b', a!.object.key], 'keys')
    },

    'claims only the oldest event of an object if it names one': async (given) => {
      const { store, at } = given
      await objectsAt(given, ['a'])
      await versions(given, ['first', 'second'])
      await given.activate({ bucket: 'another', filename: 'other' })
      const claimed = await store.claimEvents(at)
      same(filenamesOf(claimed), ['first'], 'filenames')
      same(await store.claimEvents(at), [], 'events while it is claimed')
      await store.settleEvents(claimsOf(claimed))
      same(filenamesOf(await store.claimEvents({ ...at, limit: 5 })), ['second'], 'filenames of the next')
      same(await store.claimEvents({ ...at, key: 'unknown' }), [], 'events of an unknown key')
      same(keysOf(await store.claimEvents()).sort(), ['a', 'key'], 'keys of the others')
    },

    'claims events of other owners before those of the owners that it is told to leave for last': async (
      given,
    ) => {
      const { store, clock } = given
      await objectsAt(given, ['a', 'b'])
      for (const [key, scope] of [
        ['c', 'carol'],
        ['d', 'dave'],
      ] as const) {
        await given.activate({ key, scope })
        clock.advance(MINUTE)
      }
      const claims = await store.claimEvents({ limit: 1, claimSeconds: 1 })
      await store.settleEvents([{ ...claimsOf(claims)[0]!, retryAt: clock.now() }])
      const lastScopes = [given.scope, 'carol']
      same(keysOf(await store.claimEvents({ lastScopes, limit: 2, claimSeconds: 1 })), ['d', 'b'], 'keys')
      clock.advance(SECOND)
      const all = keysOf(await store.claimEvents({ lastScopes: [given.scope, given.scope] }))
      same(
        [all.slice(0, 2).sort(), all.slice(2).sort()],
        [
          ['c', 'd'],
          ['a', 'b'],
        ],
        'keys of two groups',
      )
      clock.advance(HOUR)
      const at = { ...given.at, key: 'a' }
      same(keysOf(await store.claimEvents({ ...at, lastScopes })), ['a'], 'keys of an object')
      same((await store.claimEvents({ lastScopes: [] })).length, 3, 'events of all others')
    },

    'claims only events that were claimed before, or only others, if told to': async (given) => {
      const { store, clock } = given
      await objectsAt(given, ['expired', 'retried', 'a', 'b'])
      const [, retried] = await store.claimEvents({ limit: 2 })
      await store.settleEvents([{ ...claimsOf([retried!])[0]!, retryAt: clock.in(MINUTE) }])
      clock.advance(HOUR)
      await objectsAt(given, ['c'])
      const [first, again] = [{ attempted: false }, { attempted: true }]
      const at = (key: string) => ({ ...given.at, key })
      same(await store.claimEvents({ ...at('expired'), ...first }), [], 'first events of a claimed object')
      same(await store.claimEvents({ ...at('a'), ...again }), [], 'claimed events of a new object')
      same(keysOf(await store.claimEvents({ ...first, limit: 2 })), ['a', 'b'], 'keys of first events')
      same(keysOf(await store.claimEvents({ ...again, limit: 1 })).length, 1, 'events that were claimed')
      same(keysOf(await store.claimEvents({ ...at('c'), ...first })), ['c'], 'keys of an object')
      same(await store.claimEvents(first), [], 'first events at the end')
      same((await store.claimEvents(again)).length, 1, 'claimed events at the end')
      same(await store.claimEvents(), [], 'events at the end')
    },

    'takes the next event of an object for one that was never claimed': async (given) => {
      const { store } = given
      await versions(given, ['first', 'second'])
      await store.settleEvents(claimsOf(await store.claimEvents()))
      same(await store.claimEvents({ attempted: true }), [], 'events that were claimed')
      same(filenamesOf(await store.claimEvents({ attempted: false })), ['second'], 'filenames')
    },

    'refuses a bucket without a key, and a key without a bucket': async (given) => {
      const { store, at } = given
      await given.activate()
      await refusedField(() => store.claimEvents({ bucket: at.bucket }), 'key')
      await refusedField(() => store.claimEvents({ bucket: null, key: at.key }), 'bucket')
      same((await store.countEvents()).waiting, 1, 'waiting events')
    },

    'returns an event only once it is due by the clock of the caller': async (given) => {
      const { store, clock } = given
      await given.activate()
      clock.advance(-1)
      same(await store.claimEvents(), [], 'events of the future')
      clock.advance(1)
      same((await store.claimEvents()).length, 1, 'events')
    },

    'returns an event that had to wait no earlier than its recording': async (given) => {
      const { store, clock } = given
      await versions(given, ['first'])
      clock.advance(MINUTE)
      await versions(given, ['second'])
      clock.advance(-1)
      await store.settleEvents(claimsOf(await store.claimEvents()))
      same(await store.claimEvents(), [], 'events of the future')
      clock.advance(1)
      same(filenamesOf(await store.claimEvents()), ['second'], 'filenames')
    },
  },
}
