import {
  SCRIPTS,
  invalid,
  overDriver,
  overStore,
  driverInput,
  driverCall,
  storeInput,
  storeCall,
  driverResult,
  type Mutants,
} from './mutant.js'

const SECOND = 1000

function withoutField<Entries>(entries: Entries, field: string): Entries {
  if (!Array.isArray(entries)) return entries
  return Array.from(entries, (entry: unknown) => {
    if (typeof entry !== 'object' || entry === null) return entry
    return Object.fromEntries(Object.entries(entry).filter(([name]) => name !== field))
  }) as Entries
}

/** Mutants of what ends and extends claims. */
export const settleMutants: Mutants = {
  'ignores other fields of the events that it settles': [
    overStore((store) => ({
      settleEvents: (entries) => store.settleEvents(withoutField(entries, 'retyAt')),
    })),
    'settleEvents: takes whole events, also what JSON makes of them, and refuses other fields',
  ],
  'ignores other fields of the events whose claims it extends': [
    overStore((store) => ({
      extendClaims: (entries, options) => store.extendClaims(withoutField(entries, 'retryAt'), options),
    })),
    'extendClaims: takes whole events, and refuses other fields',
  ],
  'settles no whole events': [
    overStore((store) => ({
      async settleEvents(entries) {
        if (Array.isArray(entries) && entries.some((entry) => 'object' in (Object(entry) as object)))
          throw invalid('entries[0].object')
        return store.settleEvents(entries)
      },
    })),
    'settleEvents: takes whole events, also what JSON makes of them, and refuses other fields',
  ],
  'settles only the first of several events': [
    driverInput('settleEvents', (command) => {
      const isPlain = command.entries.length === 2 && command.entries.every(({ retryAt }) => retryAt === null)
      return isPlain ? { ...command, entries: command.entries.slice(0, 1) } : command
    }),
    'events: outlive their object and its history',
    'settleEvents: removes events, and returns their ids',
    'settleEvents: ignores ids and claims that it does not know',
  ],
  'returns no ids of settled events whose claim has expired': [
    driverCall('settleEvents', async (command, driver) => {
      const { items } = await driver.listEvents({ limit: 1000, after: null })
      const entries = command.entries.filter(
        ({ id }) =>
          !items.some((item) => item.id === id && item.claimedUntil && item.claimedUntil <= command.now),
      )
      return entries.length === 0 ? [] : driver.settleEvents({ ...command, entries })
    }),
    'settleEvents: accepts a claim that has expired, until another one takes its place',
  ],
  'returns the ids of all events that it is asked to settle': [
    driverCall('settleEvents', async (command, driver) => {
      await driver.settleEvents(command)
      return command.entries.map(({ id }) => ({ id, hasNext: false }))
    }),
    'claimEvents: takes over an expired claim, with another claim and one attempt more',
    'settleEvents: settles each event once',
  ],
  'settles an event that is settled already once more': [
    overDriver((driver) => {
      const settled = new Set<string>()
      return {
        async settleEvents(command) {
          const events = await driver.settleEvents(command)
          const ids = events.map(({ id }) => id)
          const again = command.entries.length === 1 && settled.has(command.entries[0]!.id)
          for (const { id, retryAt } of command.entries)
            if (retryAt === null && ids.includes(id)) settled.add(id)
          return again ? command.entries.map(({ id }) => ({ id, hasNext: false })) : events
        },
      }
    }),
    'settleEvents: settles each event once',
  ],
  'retries an event a millisecond early': [
    driverInput('settleEvents', (command) => ({
      ...command,
      entries: command.entries.map((entry) => ({
        ...entry,
        retryAt: entry.retryAt && new Date(entry.retryAt.getTime() - 1),
      })),
    })),
    'settleEvents: schedules a retry, which is due then and not before',
    'listEvents: shows when an event is retried',
    SCRIPTS.aboutEvents,
  ],
  'retries an event in the past a second from now': [
    driverInput('settleEvents', (command) => ({
      ...command,
      entries: command.entries.map((entry) => ({
        ...entry,
        retryAt:
          entry.retryAt && entry.retryAt < command.now
            ? new Date(command.now.getTime() + SECOND)
            : entry.retryAt,
      })),
    })),
    'settleEvents: schedules a retry in the past, which is due at once',
  ],
  'keeps the claim of an event that is retried': [
    overDriver((driver) => {
      const retried = new Set<string>()
      return {
        async settleEvents(command) {
          const events = await driver.settleEvents(command)
          const ids = events.map(({ id }) => id)
          const known = command.entries.filter(({ claim }) => retried.has(claim))
          for (const { claim, id, retryAt } of command.entries)
            if (retryAt && ids.includes(id)) retried.add(claim)
          return [...events, ...known.map(({ id }) => ({ id, hasNext: false }))]
        },
      }
    }),
    'settleEvents: ends the claim of an event that is retried',
  ],
  'holds back the events of other objects while one is retried': [
    driverCall('claimEvents', async (command, driver) => {
      const { items } = await driver.listEvents({ limit: 1000, after: null })
      const isRetried = items.some(
        ({ attempts, claimedUntil, dueAt }) => attempts > 0 && !claimedUntil && dueAt > command.now,
      )
      return isRetried ? [] : driver.claimEvents(command)
    }),
    'settleEvents: holds back later events of the object until the retry, and nothing else',
  ],
  'removes all events of a call of which one is retried': [
    driverInput('settleEvents', (command) => {
      const isMixed =
        command.entries.some(({ retryAt }) => retryAt) && command.entries.some(({ retryAt }) => !retryAt)
      return isMixed
        ? { ...command, entries: command.entries.map((entry) => ({ ...entry, retryAt: null })) }
        : command
    }),
    'settleEvents: removes some and retries others in one call',
    'countEvents: counts events that were never claimed, those under a running claim, and all others',
  ],
  'fails if it does not know an id': [
    overStore((store) => ({
      async settleEvents(entries) {
        if (
          Array.isArray(entries) &&
          entries.some((entry: { id?: unknown } | null) => entry?.id === '9'.repeat(100))
        )
          throw invalid('entries[1].id')
        return store.settleEvents(entries)
      },
      async extendClaims(entries, options) {
        const ids = await store.extendClaims(entries, options)
        return entries.length > 5 && entries.length < 20 ? entries.map(({ id }) => id) : ids
      },
    })),
    'settleEvents: ignores ids and claims that it does not know',
  ],
  'takes at most 999 entries': [
    storeInput('settleEvents', (entries) => (entries.length === 1000 ? entries.slice(0, 999) : entries)),
    'settleEvents: takes no entries, and 1000 entries',
  ],
  'settles the valid ones of several entries before it refuses the others': [
    storeCall('settleEvents', async (entries, store) => {
      const result = store.settleEvents(entries)
      await result.catch(() =>
        Array.isArray(entries) && entries.length === 2
          ? store.settleEvents(entries.slice(0, 1)).catch(() => [])
          : [],
      )
      return result
    }),
    'settleEvents: changes nothing if one of its entries is refused',
  ],
  'extends claims from their end': [
    driverCall('extendClaims', async (command, driver) => {
      const ids: string[] = []
      for (const entry of command.entries) {
        const { items } = await driver.listEvents({ limit: 1000, after: null })
        const end = items.find(({ id }) => id === entry.id)?.claimedUntil?.getTime() ?? 0
        const until = new Date(Math.max(command.until.getTime(), end))
        ids.push(...(await driver.extendClaims({ entries: [entry], until })))
      }
      return ids
    }),
    'extendClaims: lets claims end 60 seconds from now, or as many as it is told',
  ],
  'counts an extension as an attempt': [
    overDriver((driver) => {
      let extensions = 0
      return {
        async extendClaims(command) {
          extensions++
          return driver.extendClaims(command)
        },
        async listEvents(query) {
          const page = await driver.listEvents(query)
          return extensions < 2
            ? page
            : {
                ...page,
                items: page.items.map((item) => ({ ...item, attempts: item.attempts + extensions })),
              }
        },
      }
    }),
    'extendClaims: keeps claim and attempts',
  ],
  'extends no claim that has expired by an hour': [
    driverCall('extendClaims', async (command, driver) => {
      const { items } = await driver.listEvents({ limit: 1000, after: null })
      const entries = command.entries.filter(({ id }) =>
        items.some(
          (item) =>
            item.id === id &&
            item.claimedUntil &&
            item.claimedUntil.getTime() > command.until.getTime() - 3_600_000,
        ),
      )
      return entries.length === 0 ? [] : driver.extendClaims({ ...command, entries })
    }),
    'extendClaims: extends a claim that has expired, until another one takes its place',
  ],
  'returns the ids of all claims that it is asked to extend': [
    driverResult('extendClaims', (ids, command) =>
      command.entries.length === 3 ? command.entries.map(({ id }) => id) : ids,
    ),
    'extendClaims: returns only the ids of claims that hold',
  ],
}
