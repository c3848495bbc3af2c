import type { ObjectReference, StoredEvent } from '../../src/adapter.js'
import { keyId } from '../../src/core/names.js'
import { eventsOf, oldestOfEach } from './event-driver.js'
import {
  SCRIPTS,
  gap,
  overDriver,
  overStore,
  driverResult,
  storeInput,
  driverInput,
  type Mutants,
} from './mutant.js'

const SECOND = 1000

/** Mutants of claims. */
export const claimMutants: Mutants = {
  'makes claims of more than 100 characters': [
    overStore((store) => {
      const real = <Entry extends { readonly claim: string }>(entries: readonly Entry[]) =>
        Array.isArray(entries)
          ? entries.map((entry: Entry) =>
              typeof entry?.claim === 'string' && entry.claim.endsWith('....')
                ? { ...entry, claim: entry.claim.replace(/\.+$/, '') }
                : entry,
            )
          : entries
      return {
        claimEvents: async (input) =>
          (await store.claimEvents(input)).map((event) => ({
            ...event,
            claim: event.claim.padEnd(101, '.'),
          })),
        settleEvents: async (entries) => store.settleEvents(real(entries)),
        extendClaims: async (entries, options) => store.extendClaims(real(entries), options),
      }
    }),
    'claimEvents: returns events with an id, an attempt and a claim of at most 100 characters',
  ],
  'knows no later event of an object': [
    driverResult('claimEvents', (claimed) => claimed.map((event) => ({ ...event, hasNext: false }))),
    'claimEvents: says whether a later event of the object waits',
    SCRIPTS.aboutEvents,
  ],
  'takes events of other objects for later ones': [
    driverResult('claimEvents', async (claimed, _, driver) => {
      const { items } = await driver.listEvents({ limit: 2, after: null })
      return claimed.map((event) => ({ ...event, hasNext: items.length > 1 }))
    }),
    'claimEvents: says whether a later event of the object waits',
    SCRIPTS.aboutEvents,
  ],
  'claims an event although there is none': [
    driverResult('claimEvents', async (claimed, command, driver) => {
      const { items } = await driver.listEvents({ limit: 1, after: null })
      const object = { bucket: 'bucket', key: 'key' } as never
      const none = {
        id: 'x',
        type: 'deleted',
        object,
        previous: null,
        createdAt: command.now,
        attempts: 1,
        claim: 'x',
        hasNext: false,
      } as const
      return items.length === 0 &&
        command.until.getTime() - command.now.getTime() === 60_000 &&
        command.limit === 100 &&
        command.reference
        ? [none]
        : claimed
    }),
    'claimEvents: returns nothing if there are no events',
  ],
  'claims the latest due events first': [
    driverResult('claimEvents', (events, { lastScopes }) =>
      lastScopes.length > 0 ? events : events.reverse(),
    ),
    'claimEvents: returns the earliest due events first, at most as many as its limit',
    'claimEvents: sorts expired claims and retries by when they became due',
    'settleEvents: removes events, and returns their ids',
    'settleEvents: removes some and retries others in one call',
    'extendClaims: returns only the ids of claims that hold',
  ],
  'claims at most 50 events by default': [
    storeInput('claimEvents', (input) =>
      typeof input === 'object' || input === undefined ? { ...input, limit: input?.limit ?? 50 } : input,
    ),
    'claimEvents: returns 100 events by default',
  ],
  'claims an event of each key only in one bucket': [
    driverResult('claimEvents', (claimed) =>
      claimed.filter(
        ({ object }, index) =>
          claimed.findIndex((other) => other.object.key.toLowerCase() === object.key.toLowerCase()) === index,
      ),
    ),
    'claimEvents: keeps events of different objects apart by bucket and key',
  ],
  'claims events for 30 seconds by default': [
    storeInput('claimEvents', (input) =>
      typeof input === 'object' || input === undefined
        ? { ...input, claimSeconds: input?.claimSeconds ?? 30 }
        : input,
    ),
    'claimEvents: holds a claim for 60 seconds by default, and up to and excluding its end',
    'countEvents: counts events that were never claimed, those under a running claim, and all others',
  ],
  'lets a claim hold at its end': [
    driverInput('claimEvents', (command) => ({ ...command, until: new Date(command.until.getTime() + 1) })),
    'claimEvents: holds a claim for 60 seconds by default, and up to and excluding its end',
    'claimEvents: takes over an expired claim, with another claim and one attempt more',
    'listEvents: shows the end of a claim, also when it has expired',
    'countEvents: counts events that were never claimed, those under a running claim, and all others',
  ],
  'gives all claims of an event the same token': [
    overDriver((driver) => {
      const tokens = new Map<string, string>()
      const real = <Entry extends { readonly id: string; readonly claim: string }>(
        entries: readonly Entry[],
      ) =>
        entries.map((entry) =>
          entry.claim === `claim ${entry.id}` ? { ...entry, claim: tokens.get(entry.id)! } : entry,
        )
      return {
        async claimEvents(command) {
          const claimed = await driver.claimEvents(command)
          for (const { id, claim } of claimed) tokens.set(id, claim)
          return claimed.map((event) => ({ ...event, claim: `claim ${event.id}` }))
        },
        settleEvents: (command) => driver.settleEvents({ ...command, entries: real(command.entries) }),
        extendClaims: (command) => driver.extendClaims({ ...command, entries: real(command.entries) }),
      }
    }),
    'claimEvents: takes over an expired claim, with another claim and one attempt more',
    SCRIPTS.aboutEvents,
    SCRIPTS.ofWorkers,
  ],
  'claims all events of a call with one token': [
    overDriver((driver) => {
      let calls = 0
      const given = new Map<string, { readonly token: string; readonly claim: string }>()
      const real = <Entry extends { readonly id: string; readonly claim: string }>(
        entries: readonly Entry[],
      ) =>
        entries.map((entry) => {
          const { token, claim } = given.get(entry.id) ?? {}
          return entry.claim === token ? { ...entry, claim: claim! } : entry
        })
      return {
        async claimEvents(command) {
          const token = `call ${++calls}`
          const claimed = await driver.claimEvents(command)
          for (const { id, claim } of claimed) given.set(id, { token, claim })
          return claimed.map((event) => ({ ...event, claim: token }))
        },
        settleEvents: (command) => driver.settleEvents({ ...command, entries: real(command.entries) }),
        extendClaims: (command) => driver.extendClaims({ ...command, entries: real(command.entries) }),
      }
    }),
    'claimEvents: gives each event its own claim, also those of one call',
  ],
  'does not count attempts': [
    driverResult('claimEvents', (events) => events.map((event) => ({ ...event, attempts: 1 }))),
    'claimEvents: takes over an expired claim, with another claim and one attempt more',
    'settleEvents: schedules a retry, which is due then and not before',
    'settleEvents: schedules a retry in the past, which is due at once',
  ],
  'sorts due events by when they were recorded': [
    driverResult('claimEvents', (events) =>
      events.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime()),
    ),
    'claimEvents: sorts expired claims and retries by when they became due',
    'settleEvents: removes some and retries others in one call',
  ],
  'ignores the bucket of the object whose events it claims': [
    driverResult('claimEvents', (claimed, command, driver) => {
      if (!command.reference || claimed.length > 0) return claimed
      return driver.claimEvents({ ...command, reference: { ...command.reference, bucket: 'another' } })
    }),
    'claimEvents: claims only the oldest event of an object if it names one',
  ],
  'claims any event if only those are wanted that were claimed before': [
    driverInput('claimEvents', (command) => ({
      ...command,
      attempted: command.attempted === false ? false : null,
    })),
    'claimEvents: claims only events that were claimed before, or only others, if told to',
    'claimEvents: takes the next event of an object for one that was never claimed',
    'all fields of events: have an effect on claimEvents',
    SCRIPTS.aboutEvents,
  ],
  'claims any event if only those are wanted that were never claimed': [
    driverInput('claimEvents', (command) => ({ ...command, attempted: command.attempted || null })),
    'claimEvents: claims only events that were claimed before, or only others, if told to',
    SCRIPTS.aboutEvents,
  ],
  'claims events by their age, whichever owners are to come last': [
    driverInput('claimEvents', (command) => ({ ...command, lastScopes: [] })),
    'claimEvents: claims events of other owners before those of the owners that it is told to leave for last',
  ],
  'never claims events of the owners that are to come last': [
    driverResult('claimEvents', async (claimed, { lastScopes }, driver) => {
      const isLast = ({ object }: StoredEvent) => lastScopes.includes(object.scope)
      await driver.settleEvents({
        entries: claimed.filter(isLast).map(({ id, claim }) => ({ id, claim, retryAt: new Date(0) })),
        now: new Date(0),
      })
      return claimed.filter((event) => !isLast(event))
    }),
    'claimEvents: claims events of other owners before those of the owners that it is told to leave for last',
    SCRIPTS.aboutEvents,
  ],
  'counts the attempts of an object, not those of its event, if it is asked for new ones': [
    overDriver((driver) => {
      const claimed = new Set<string>()
      return {
        async claimEvents(command) {
          const nameOf = ({ object }: { readonly object: ObjectReference }) => keyId(object)
          const events = await driver.claimEvents(command)
          const taken =
            command.attempted === false ? events.filter((event) => !claimed.has(nameOf(event))) : events
          for (const event of taken) claimed.add(nameOf(event))
          return taken
        },
      }
    }),
    'claimEvents: takes the next event of an object for one that was never claimed',
  ],
  'claims events of all objects if it gets a key without a bucket': [
    storeInput('claimEvents', (input) => (input && input.bucket == null ? { ...input, key: null } : input)),
    'claimEvents: refuses a bucket without a key, and a key without a bucket',
  ],
  'claims events before they are due': [
    driverInput('claimEvents', (command) => ({ ...command, now: new Date(command.now.getTime() + 1) })),
    'claimEvents: holds a claim for 60 seconds by default, and up to and excluding its end',
    'claimEvents: returns an event only once it is due by the clock of the caller',
    'settleEvents: schedules a retry, which is due then and not before',
    'extendClaims: lets claims end 60 seconds from now, or as many as it is told',
  ],
  'claims events of the future': [
    driverResult('claimEvents', async (claimed, command, driver) => {
      const page = await driver.listEvents({ limit: 1000, after: null })
      const isFuture = page.items.some(({ createdAt, attempts }) => attempts === 0 && createdAt > command.now)
      return claimed.length === 0 && isFuture
        ? driver.claimEvents({ ...command, now: new Date(command.now.getTime() + SECOND) })
        : claimed
    }),
    'claimEvents: returns an event only once it is due by the clock of the caller',
  ],
  'lets two callers claim one event at the same time': [
    overDriver((driver) => {
      let last: Awaited<ReturnType<NonNullable<typeof driver.claimEvents>>> = []
      return {
        async claimEvents(command) {
          const claimed = await driver.claimEvents(command)
          if (claimed.length > 0) last = claimed
          const shared = claimed.length === 0 ? last : claimed
          await gap()
          last = []
          return shared
        },
      }
    }),
    SCRIPTS.ofWorkers,
  ],
  'claims an event as soon as the one before it is settled': [
    overDriver((driver) => {
      const next = new Set<string>()
      return {
        async claimEvents(command) {
          const early = oldestOfEach(await eventsOf(driver)).find(
            ({ id, attempts, dueAt }) => next.has(id) && attempts === 0 && dueAt > command.now,
          )
          return driver.claimEvents(early ? { ...command, now: early.dueAt } : command)
        },
        async settleEvents(command) {
          const before = new Set(oldestOfEach(await eventsOf(driver)).map(({ id }) => id))
          const settled = await driver.settleEvents(command)
          for (const { id } of oldestOfEach(await eventsOf(driver))) if (!before.has(id)) next.add(id)
          return settled
        },
      }
    }),
    'claimEvents: returns an event that had to wait no earlier than its recording',
  ],
}
