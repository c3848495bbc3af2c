import {
  StorageError,
  type ListedEvent,
  type ReserveCommand,
  type ScopeUsage,
  type StorageObject,
  type StoreDriver,
} from '../../src/adapter.js'
import { eventsOf } from './event-driver.js'
import { memoryPlaces, type Breaking } from './memory-places.js'
import { NO_QUOTA, SCRIPTS, gap, type Mutant, type Mutants } from './mutant.js'

/** A store whose defect shows only with further options of the suite. */
function overPlaces(broken: Breaking): Pick<Mutant, 'createStore' | 'options'> {
  const { createStore, ...options } = memoryPlaces(broken)
  return { createStore, options: { ...options, driver: true } }
}

/** Runs one call after the other, within one store. */
function oneByOne(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (run) => {
    const next = last.then(run, run)
    last = next
    return next
  }
}

/** Calls `forget` before these methods. */
function forgetting(
  driver: StoreDriver,
  names: readonly ('confirm' | 'release' | 'remove' | 'transfer' | 'adopt' | 'purgeExpired')[],
  forget: () => void,
): Partial<StoreDriver> {
  const methods = names.map((name) => {
    const call = (command: unknown) => {
      forget()
      return Reflect.apply(Reflect.get(driver, name) as () => unknown, driver, [command]) as unknown
    }
    return [name, call]
  })
  return Object.fromEntries(methods) as Partial<StoreDriver>
}

const empty = 'a place without a schema'
const two = 'two stores on one place'
const spoiled = 'spoiled usage'
const outcomes = 'outcomes of the driver'
const settled = 'outcomes of settled events'

export const placeMutants: Mutants = {
  'throws a plain error before migrate': [
    overPlaces((driver) => ({
      find: (query) =>
        driver.find(query).catch(() => {
          throw new Error('relation "objects" does not exist')
        }),
    })),
    `${empty}: fails every call with DATABASE_UNAVAILABLE, not retryable, until migrate has run`,
  ],

  'lets callers retry before migrate': [
    overPlaces((driver) => ({
      usage: (scope) =>
        driver.usage(scope).catch((error: unknown) => {
          throw new StorageError('DATABASE_UNAVAILABLE', { message: 'Run migrate().', cause: error })
        }),
    })),
    `${empty}: fails every call with DATABASE_UNAVAILABLE, not retryable, until migrate has run`,
  ],

  'reports nothing missing before migrate': [
    overPlaces(() => ({ verify: async () => [] })),
    `${empty}: is reported by verify, which changes nothing`,
  ],

  'reports the version after migrate as the one before': [
    overPlaces((driver) => ({
      async migrate() {
        const { to } = await driver.migrate()
        return { from: to, to }
      },
    })),
    `${empty}: is migrated from version 0 to a higher one, once`,
  ],

  'refuses to migrate while another call does': [
    overPlaces((driver) => {
      let isMigrating = false
      return {
        async migrate() {
          if (isMigrating) throw new StorageError('DATABASE_UNAVAILABLE', { message: 'Locked.' })
          isMigrating = true
          await gap()
          isMigrating = false
          return driver.migrate()
        },
      }
    }),
    `${empty}: is migrated by any number of concurrent calls`,
  ],

  'checks quotas one by one, but only within one process': [
    overPlaces((driver) => {
      const locked = oneByOne()
      return {
        reserve: (command) =>
          locked(async () => {
            const { bytes, files, reservedBytes, reservedFiles } = await driver.usage(command.scope)
            const { maxBytes, maxFiles } = command.quota
            const fits =
              (maxBytes === null || bytes + reservedBytes + command.declaredSize <= maxBytes) &&
              (maxFiles === null || files + reservedFiles + 1 <= maxFiles)
            await gap()
            return driver.reserve(fits ? { ...command, quota: NO_QUOTA } : command)
          }),
      }
    }),
    `${two}: never exceed a quota together, and fill it`,
  ],

  'checks the owner of a key one by one, but only within one process': [
    overPlaces((driver) => {
      const locked = oneByOne()
      return {
        reserve: (command) =>
          locked(async () => {
            const seen = await driver.find({ ...command, scope: null })
            await gap()
            const now = await driver.findPending({ ...command, scope: null, id: null, uploadId: null })
            if (!seen && now && now.scope !== command.scope)
              await driver.release({ ...command, scope: null, id: null, uploadId: null })
            return driver.reserve(command)
          }),
      }
    }),
    `${two}: give a key to one of two scopes`,
  ],

  'confirms an attempt that only another process has ended': [
    overPlaces((driver) => {
      const attempts = new Map<string, ReserveCommand>()
      return {
        ...forgetting(driver, ['release', 'remove', 'transfer', 'purgeExpired'], () => attempts.clear()),
        async reserve(command) {
          const outcome = await driver.reserve(command)
          if (outcome.outcome === 'reserved') attempts.set(command.key, command)
          return outcome
        },
        async confirm(command) {
          const outcome = await driver.confirm(command)
          const attempt = attempts.get(command.key)
          attempts.delete(command.key)
          if (outcome.outcome !== 'not-found' || attempt?.id !== command.id) return outcome
          await driver.reserve({ ...attempt, now: command.now })
          return driver.confirm(command)
        },
      }
    }),
    `${two}: rely on nothing that the other has changed`,
  ],

  'takes a key that it freed, even if another place has taken it since': [
    overPlaces((driver) => {
      const freed = new Set<string>()
      return {
        async remove(command) {
          const outcome = await driver.remove(command)
          if (outcome.row) freed.add(command.key)
          return outcome
        },
        async reserve(command) {
          const { bucket, key, now } = command
          const at = { bucket, key, scope: null, now }
          if (freed.delete(key)) await driver.remove({ ...at, attemptId: null, mode: 'hard' })
          return driver.reserve(command)
        },
      }
    }),
    `${two}: rely on nothing that the other has changed`,
  ],

  'checks quotas against the usage after the last reserve of its process': [
    overPlaces((driver) => {
      const usages = new Map<string, ScopeUsage>()
      const changing = ['confirm', 'release', 'remove', 'transfer', 'adopt', 'purgeExpired'] as const
      return {
        ...forgetting(driver, changing, () => usages.clear()),
        async reserve(command) {
          const usage = usages.get(command.scope)
          const { maxFiles } = command.quota
          const fits = usage && maxFiles !== null && usage.files + usage.reservedFiles < maxFiles
          const outcome = await driver.reserve(fits ? { ...command, quota: NO_QUOTA } : command)
          usages.set(command.scope, await driver.usage(command.scope))
          return outcome
        },
      }
    }),
    `${two}: rely on nothing that the other has changed`,
  ],

  'returns rows from a cache of its process, if another process was there before': [
    overPlaces((driver, { isReopened }) => {
      if (!isReopened) return {}
      const cache = new Map<string, StorageObject | null>()
      return {
        async find(query) {
          const name = JSON.stringify(query)
          if (!cache.has(name)) cache.set(name, await driver.find(query))
          return cache.get(name)!
        },
      }
    }),
    `${two}: return the same, and see what the other has written`,
  ],

  'remembers in its process whether it has migrated': [
    overPlaces((driver) => {
      let from = 0
      return {
        async migrate() {
          const { to } = await driver.migrate()
          const before = from
          from = to
          return { from: before, to }
        },
      }
    }),
    `${two}: migrate again without a change`,
  ],

  'records events unless it is told not to': [
    (() => {
      const { createStore, createEmpty, ...options } = memoryPlaces()
      const recording: typeof createEmpty = (context) => createEmpty({ events: true, ...context })
      return { createStore, options: { ...options, createEmpty: recording } }
    })(),
    `${empty}: records no events unless it is told to`,
  ],

  'keeps events off once they were switched off': [
    overPlaces((driver, { tables: { events } }) => ({
      async migrate(options) {
        const wasOff = !events.isRecording
        const result = await driver.migrate(options)
        if (wasOff) Reflect.set(events, 'isRecording', false)
        return result
      },
    })),
    `${two} with events: are switched off and on again`,
  ],

  'goes on recording events once they were switched on': [
    overPlaces((driver, { tables: { events } }) => ({
      async migrate(options) {
        const wasOn = events.isRecording
        const result = await driver.migrate(options)
        if (wasOn) Reflect.set(events, 'isRecording', true)
        return result
      },
    })),
    `${two} with events: are switched off and on again`,
  ],

  'drops the recorded events when they are switched off': [
    overPlaces((driver, { tables: { events } }) => ({
      async migrate(options) {
        const wasOn = events.isRecording
        const result = await driver.migrate(options)
        const now = new Date('2500-01-01')
        const all = { limit: 1000, reference: null, attempted: null, lastScopes: [], now, until: now }
        const dropped = wasOn && !events.isRecording ? await driver.claimEvents(all) : []
        const entries = dropped.map(({ id, claim }) => ({ id, claim, retryAt: null }))
        await driver.settleEvents({ entries, now })
        return result
      },
    })),
    `${two} with events: are switched off and on again`,
  ],

  'records no events in a process that was not configured to': [
    overPlaces((driver, { tables, isReopened }) =>
      !isReopened
        ? {}
        : {
            remove(command) {
              const record = tables.events.record.bind(tables.events)
              tables.events.record = () => {}
              // The memory driver has written when it returns its promise.
              const result = driver.remove(command)
              tables.events.record = record
              return result
            },
          },
    ),
    `${two} with events: both record, although only one was configured to`,
  ],

  'settles only the claims that it made itself': [
    overPlaces((driver) => {
      const own = new Set<string>()
      return {
        async claimEvents(command) {
          const claimed = await driver.claimEvents(command)
          for (const { claim } of claimed) own.add(claim)
          return claimed
        },
        settleEvents: (command) =>
          driver.settleEvents({
            ...command,
            entries: command.entries.filter(({ claim }) => own.has(claim)),
          }),
      }
    }),
    `${two} with events: claim each event once, and settle the claims of each other`,
  ],

  "doesn't check usage": [
    overPlaces(() => ({ checkUsage: async () => [] })),
    `${spoiled}: is reported by checkUsage, which changes nothing`,
  ],

  'checks all scopes that start like the given one': [
    overPlaces((driver) => ({
      async checkUsage(scope) {
        const found = await driver.checkUsage(null)
        return found.filter((each) => scope === null || scope.startsWith(each.scope))
      },
    })),
    `${spoiled}: is reported by checkUsage, which changes nothing`,
  ],

  'corrects usage that it only checks': [
    overPlaces((driver) => ({ checkUsage: (scope) => driver.repairUsage(scope) })),
    `${spoiled}: is reported by checkUsage, which changes nothing`,
  ],

  'reports the usage of a scope without correcting it': [
    overPlaces((driver) => ({ repairUsage: (scope) => driver.checkUsage(scope) })),
    `${spoiled}: is corrected by repairUsage of its scope or of all, which returns the differences`,
  ],

  'corrects all scopes when asked for one': [
    overPlaces((driver) => ({
      async repairUsage(scope) {
        const repaired = await driver.repairUsage(null)
        return repaired.filter((each) => scope === null || each.scope === scope)
      },
    })),
    `${spoiled}: is corrected by repairUsage of its scope or of all, which returns the differences`,
  ],

  'checks usage up to the first difference': [
    overPlaces((driver) => ({ checkUsage: async (scope) => (await driver.checkUsage(scope)).slice(0, 1) })),
    `${spoiled}: of two scopes is reported and corrected for both`,
  ],

  'reports only the new owner of a reservation that is taken over': [
    overPlaces((driver) => ({
      async reserve(command) {
        const outcome = await driver.reserve(command)
        return outcome.outcome === 'reserved' ? { ...outcome, scopes: [command.scope] } : outcome
      },
    })),
    `${outcomes}: name both owners if a reserve takes over an expired reservation, if they have \`scopes\``,
    SCRIPTS.aboutExpiry,
  ],

  'calls a repeated confirm the first': [
    overPlaces((driver) => ({
      async confirm(command) {
        const outcome = await driver.confirm(command)
        return outcome.outcome === 'confirmed' ? { ...outcome, isRepeat: false } : outcome
      },
    })),
    `${outcomes}: say whether a confirm repeats an earlier one, and what it replaced`,
    SCRIPTS.aboutAttempts,
  ],

  'reports the new row as the replaced one': [
    overPlaces((driver) => ({
      async confirm(command) {
        const outcome = await driver.confirm(command)
        return outcome.outcome === 'confirmed' && outcome.replaced
          ? { ...outcome, replaced: outcome.row }
          : outcome
      },
    })),
    `${outcomes}: say whether a confirm repeats an earlier one, and what it replaced`,
    SCRIPTS.aboutRemoving,
  ],

  'calls each of two concurrent confirms the first': [
    overPlaces((driver) => ({
      async confirm(command) {
        const before = await driver.findPending({ ...command, scope: null, uploadId: null })
        await gap()
        const outcome = await driver.confirm(command)
        return outcome.outcome === 'confirmed' && before ? { ...outcome, isRepeat: false } : outcome
      },
    })),
    `${outcomes}: call all but one of the concurrent confirms of an attempt repeats`,
  ],

  'says that no settled event has a later one': [
    overPlaces((driver) => ({
      async settleEvents(command) {
        return (await driver.settleEvents(command)).map(({ id }) => ({ id, hasNext: false }))
      },
    })),
    `${settled}: say whether the object has a later event`,
  ],

  'takes events of other objects for later ones of a settled event': [
    overPlaces((driver) => ({
      async settleEvents(command) {
        const events = await driver.settleEvents(command)
        const { length } = await eventsOf(driver)
        return events.map(({ id }) => ({ id, hasNext: length > 0 }))
      },
    })),
    `${settled}: say whether the object has a later event`,
  ],

  'looks for later events a moment before it settles': [
    overPlaces((driver) => ({
      async settleEvents(command) {
        const all = await eventsOf(driver)
        await gap()
        const events = await driver.settleEvents(command)
        return events.map(({ id }) => {
          const { object } = all.find((each) => each.id === id)!
          const isLater = ({ object: { bucket, key } }: ListedEvent) =>
            bucket === object.bucket && key === object.key
          return { id, hasNext: all.filter(isLater).length > 1 }
        })
      },
    })),
    `${settled}: call a later event of the object, if the one who has recorded it could not claim it`,
  ],
}
