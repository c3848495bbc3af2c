import type { StoredEvent } from '../../../src/core/store/events.js'
import { holds, refused, refusedField, same, sameFields } from '../assertions.js'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { numbers } from '../given.js'
import { claimOne, claimsOf, filenamesOf, keysOf, objectsAt, versions } from './claimed-events.js'

/** Returns a text without its last character, if it has the maximum length of ids and claims. */
const start = (text: string) => [...text].slice(0, 99).join('')
const idsOf = (events: readonly StoredEvent[]) => events.map(({ id }) => id)

export const settleCases: CaseGroup = {
  title: 'settleEvents',
  events: true,
  cases: {
    'removes events, and returns their ids': async (given) => {
      const { store, clock } = given
      await objectsAt(given, ['a', 'b', 'c'])
      const claimed = await store.claimEvents()
      const settled = await store.settleEvents(claimsOf(claimed.slice(0, 2)))
      same(settled.sort(), idsOf(claimed.slice(0, 2)).sort(), 'ids')
      clock.advance(HOUR)
      same(keysOf(await store.claimEvents()), ['c'], 'keys of what is left')
    },

    'accepts a claim that has expired, until another one takes its place': async (given) => {
      const { store, clock } = given
      await given.activate()
      const event = await claimOne(given)
      clock.advance(24 * HOUR)
      same(await store.settleEvents(claimsOf([event])), [event.id], 'ids')
      same(await store.claimEvents(), [], 'events')
    },

    'takes whole events, also what JSON makes of them, and refuses other fields': async (given) => {
      const { store, clock } = given
      await objectsAt(given, ['a', 'b'])
      const [first, second] = await store.claimEvents()
      const misspelt: StoredEvent = Object.assign({ ...first! }, { retyAt: clock.in(HOUR) })
      const refusal = { field: 'entries[1].retyAt' }
      await refused(() => store.settleEvents([second!, misspelt]), 'VALIDATION_ERROR', refusal)
      same((await store.listEvents()).items.length, 2, 'events after the refused call')
      same(await store.settleEvents([{ ...first!, retryAt: null }]), [first!.id], 'ids')
      const ofJson = JSON.parse(JSON.stringify(second)) as StoredEvent
      same(await store.settleEvents([ofJson]), [second!.id], 'ids of what JSON made')
    },

    'settles each event once': async (given) => {
      const { store } = given
      await versions(given, ['first', 'second'])
      const event = await claimOne(given)
      same(await store.settleEvents(claimsOf([event])), [event.id], 'ids')
      same(await store.settleEvents(claimsOf([event])), [], 'ids of a repeat')
      same(filenamesOf(await store.claimEvents()), ['second'], 'filenames of what is left')
    },

    'schedules a retry, which is due then and not before': async (given) => {
      const { store, clock } = given
      await given.activate()
      const event = await claimOne(given)
      const retryAt = clock.in(2 * HOUR)
      same(await store.settleEvents([{ ...claimsOf([event])[0]!, retryAt }]), [event.id], 'ids')
      clock.advance(2 * HOUR - 1)
      same(await store.claimEvents(), [], 'events before the retry')
      clock.advance(1)
      const again = await claimOne(given)
      same({ ...again, claim: '' }, { ...event, claim: '', attempts: 2 })
      same(await store.settleEvents(claimsOf([again])), [event.id], 'ids of the retry')
    },

    'schedules a retry in the past, which is due at once': async (given) => {
      const { store, clock } = given
      await given.activate()
      const event = await claimOne(given)
      await store.settleEvents([{ ...claimsOf([event])[0]!, retryAt: clock.in(-HOUR) }])
      sameFields(await claimOne(given), { id: event.id, attempts: 2 })
    },

    'ends the claim of an event that is retried': async (given) => {
      const { store, clock } = given
      await given.activate()
      const event = await claimOne(given)
      const [entry] = claimsOf([event])
      await store.settleEvents([{ ...entry!, retryAt: clock.in(HOUR) }])
      same(await store.settleEvents([entry!]), [], 'ids of a second call')
      same(await store.extendClaims([entry!]), [], 'ids of an extension')
      clock.advance(HOUR)
      same((await store.claimEvents()).length, 1, 'events at the time of the retry')
    },

    'holds back later events of the object until the retry, and nothing else': async (given) => {
      const { store, clock, at } = given
      await versions(given, ['first', 'second'])
      const event = await claimOne(given)
      await store.settleEvents([{ ...claimsOf([event])[0]!, retryAt: clock.in(HOUR) }])
      await given.activate({ key: 'another', filename: 'other' })
      same(filenamesOf(await store.claimEvents()), ['other'], 'filenames')
      same(await store.claimEvents(at), [], 'events of the object')
      clock.advance(HOUR)
      same(filenamesOf(await store.claimEvents(at)), ['first'], 'filenames of the object')
    },

    'removes some and retries others in one call': async (given) => {
      const { store, clock } = given
      await objectsAt(given, ['a', 'b', 'c', 'd'])
      const claimed = await store.claimEvents()
      const [a, b, c] = claimsOf(claimed)
      const retryAt = clock.in(2 * MINUTE)
      const entries = [{ ...a!, retryAt }, b!, { ...c!, claim: 'another', retryAt }, { id: 'x', claim: 'y' }]
      same((await store.settleEvents(entries)).sort(), [a!.id, b!.id].sort(), 'ids')
      clock.advance(HOUR)
      // The claims of c and d expired at the same time, and the contract promises no order between them.
      const [first, second, ...others] = keysOf(await store.claimEvents())
      same([first, second].sort(), ['c', 'd'], 'keys of the expired claims')
      same(others, ['a'], 'keys of the retried events')
    },

    'ignores ids and claims that it does not know': async (given) => {
      const { store } = given
      await objectsAt(given, ['a', 'b'])
      const [a, b] = claimsOf(await store.claimEvents())
      const unknown = [
        'x',
        '0',
        '-1',
        '1e400',
        '9'.repeat(100),
        '\u{1f600}'.repeat(100),
        '{"$gt":""}',
        "' or 1=1",
      ]
      const ids = [
        ...unknown,
        given.newId(),
        'f'.repeat(24),
        '1.5',
        ' ',
        'null',
        `${start(a!.id)} `,
        start(a!.id.toUpperCase()) + 'x',
      ].filter((id) => id !== a!.id)
      same(await store.settleEvents(ids.map((id) => ({ id, claim: a!.claim }))), [], 'with unknown ids')
      for (const claim of [...ids, b!.claim]) {
        same(await store.settleEvents([{ id: a!.id, claim }]), [], `with the claim ${JSON.stringify(claim)}`)
        same(await store.extendClaims([{ id: a!.id, claim }]), [], `extended with ${JSON.stringify(claim)}`)
      }
      same(
        await store.extendClaims(ids.map((id) => ({ id, claim: a!.claim }))),
        [],
        'extended with unknown ids',
      )
      same((await store.settleEvents([a!, b!])).sort(), [a!.id, b!.id].sort(), 'with the claims')
    },

    'takes no entries, and 1000 entries': async (given) => {
      const { store } = given
      await given.activate()
      const [entry] = claimsOf(await store.claimEvents())
      const entries = [...numbers(999).map((number) => ({ id: `unknown ${number}`, claim: 'claim' })), entry!]
      same([await store.settleEvents([]), await store.extendClaims([])], [[], []], 'ids without entries')
      same(await store.extendClaims(entries), [entry!.id], 'extended ids')
      same(await store.settleEvents(entries), [entry!.id], 'settled ids')
    },

    'changes nothing if one of its entries is refused': async (given) => {
      const { store } = given
      await given.activate()
      const [entry] = claimsOf(await store.claimEvents())
      await refusedField(() => store.settleEvents([entry!, { id: '', claim: 'claim' }]), 'entries[1].id')
      await refusedField(() => store.settleEvents([entry!, entry!]), 'entries[1].id')
      same(await store.settleEvents([entry!]), [entry!.id])
    },
  },
}

export const extendCases: CaseGroup = {
  title: 'extendClaims',
  events: true,
  cases: {
    'takes whole events, and refuses other fields': async (given) => {
      const { store, clock } = given
      await given.activate()
      const event = await claimOne(given)
      const misspelt: StoredEvent = Object.assign({ ...event }, { retryAt: clock.in(HOUR) })
      await refused(() => store.extendClaims([misspelt]), 'VALIDATION_ERROR', { field: 'entries[0].retryAt' })
      same(await store.extendClaims([event]), [event.id], 'ids')
    },

    'lets claims end 60 seconds from now, or as many as it is told': async (given) => {
      const { store, clock } = given
      await given.activate()
      let [entry] = claimsOf(await store.claimEvents({ claimSeconds: 3600 }))
      const lengths = [
        [60, undefined],
        [60, {}],
        [60, { claimSeconds: null }],
        [1, { claimSeconds: 1 }],
        [3600, { claimSeconds: 3600 }],
      ] as const
      for (const [seconds, options] of lengths) {
        clock.advance(500)
        same(await store.extendClaims([entry!], options), [entry!.id], 'ids')
        clock.advance(seconds * SECOND - 1)
        same(await store.claimEvents(), [], `events before the end of ${seconds} s`)
        clock.advance(1)
        ;[entry] = claimsOf(await store.claimEvents({ claimSeconds: 3600 }))
        holds(entry !== undefined, `no event at the end of ${seconds} s`)
      }
    },

    'keeps claim and attempts': async (given) => {
      const { store, clock } = given
      await given.activate()
      const event = await claimOne(given)
      await store.extendClaims(claimsOf([event]))
      await store.extendClaims(claimsOf([event]))
      same((await store.listEvents()).items[0]?.attempts, 1, 'attempts')
      same(await store.settleEvents(claimsOf([event])), [event.id], 'ids')
      clock.advance(HOUR)
      same(await store.claimEvents(), [], 'events')
    },

    'extends a claim that has expired, until another one takes its place': async (given) => {
      const { store, clock } = given
      await given.activate()
      const event = await claimOne(given)
      clock.advance(HOUR)
      same(await store.extendClaims(claimsOf([event])), [event.id], 'ids')
      same(await store.claimEvents(), [], 'events')
    },

    'returns only the ids of claims that hold': async (given) => {
      const { store, clock } = given
      await objectsAt(given, ['a', 'b', 'c'])
      const [a, b, c] = claimsOf(await store.claimEvents())
      await store.settleEvents([a!])
      const entries = [a!, b!, { ...c!, claim: a!.claim }]
      same(await store.extendClaims(entries, { claimSeconds: 600 }), [b!.id], 'ids')
      clock.advance(5 * MINUTE)
      same(keysOf(await store.claimEvents()), ['c'], 'keys of what can be claimed')
    },
  },
}
