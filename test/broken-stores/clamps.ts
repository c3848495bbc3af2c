import type { StoreDriver } from '../../src/adapter.js'
import { driverInput, type Mutants } from './mutant.js'

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

/** The methods with a limit, to what a driver lowers it, and the test that must notice. */
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

export const clampMutants: Mutants = {
  ...Object.fromEntries(
    clamps.map(([name, max, rejectedBy]): [string, Mutants[string]] => [
      `serves no limit above ${max} in ${name}`,
      [driverInput(name, (query) => ({ ...query, limit: Math.min(query.limit, max) })), rejectedBy],
    ]),
  ),
  'settles the first 500 events only': [
    driverInput('settleEvents', (command) => ({ ...command, entries: command.entries.slice(0, 500) })),
    ofNames,
  ],
  'extends the first 500 claims only': [
    driverInput('extendClaims', (command) => ({ ...command, entries: command.entries.slice(0, 500) })),
    ofNames,
  ],
}
