import type { StoreDriver } from '../../src/adapter.js'
import { overDriver, type Mutant } from './mutant.js'

const ofRows = 'long lists: return as many rows and leftovers as they are asked for'
const ofHistory = 'long lists: return and purge as much history as they are asked for'
const ofNames =
  'long lists of scopes, names and events: return, claim and settle as many as they are asked for'

type Limited = {
  [Name in keyof StoreDriver]: StoreDriver[Name] extends (query: infer Query) => unknown
    ? Query extends { readonly limit: number }
      ? Name
      : never
    : never
}[keyof StoreDriver]

/** The methods with a limit, the test that must notice if a driver lowers it, and to what. */
const clamps: readonly (readonly [Limited, number, string])[] = [
  ['list', 500, ofRows],
  ['list', 1000, ofRows],
  ['listExpired', 500, ofRows],
  ['listExpired', 999, ofRows],
  ['purgeExpired', 500, ofRows],
  ['listLeftovers', 500, ofRows],
  ['listLeftovers', 999, ofRows],
  ['listDueLeftovers', 500, ofRows],
  ['purgeDeleted', 500, ofHistory],
  ['listScopes', 500, ofNames],
  ['listScopes', 999, ofNames],
  ['listStored', 500, ofNames],
  ['listEvents', 500, ofNames],
  ['listEvents', 999, ofNames],
  ['claimEvents', 500, ofNames],
]

export const clampMutants: readonly Mutant[] = [
  ...clamps.map(([name, max, rejectedBy]) => ({
    defect: `serves no limit above ${max} in ${name}`,
    createStore: overDriver((driver) => {
      const call = driver[name].bind(driver) as (query: { readonly limit: number }) => Promise<unknown>
      const clamped = (query: { readonly limit: number }) =>
        call({ ...query, limit: Math.min(query.limit, max) })
      return { [name]: clamped }
    }),
    rejectedBy: [rejectedBy],
  })),
  {
    defect: 'settles the first 500 events only',
    createStore: overDriver((driver) => ({
      settleEvents: (command) => driver.settleEvents({ ...command, entries: command.entries.slice(0, 500) }),
    })),
    rejectedBy: [ofNames],
  },
  {
    defect: 'extends the first 500 claims only',
    createStore: overDriver((driver) => ({
      extendClaims: (command) => driver.extendClaims({ ...command, entries: command.entries.slice(0, 500) }),
    })),
    rejectedBy: [ofNames],
  },
]
