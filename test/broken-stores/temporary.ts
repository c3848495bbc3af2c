import type { StoreDriver, TransferCommand, UpdateCommand } from '../../src/adapter.js'
import {
  SCRIPTS,
  driverCall,
  driverInput,
  driverResult,
  overChanges,
  overReplacements,
  storeInput,
  storeResult,
  withActive,
  type Change,
  type Mutants,
} from './mutant.js'

const LAST_DATE = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
/** Longer than any script, in milliseconds. */
const YEARS = 10 * 365 * 24 * 3_600_000
const LAST_ID = 'ffffffff-ffff-7fff-bfff-ffffffffffff'
const PAST_END =
  'temporary objects: are past their end from its very millisecond: no update, transfer or keep finds them'
const LISTS = 'listTemporary: lists objects up to and including a date, now by default, by end and id'

const isActivation = ({ before, after }: Change) =>
  before.pending !== null && after.pending === null && after.active !== null

const later = (date: Date, milliseconds: number) => new Date(date.getTime() + milliseconds)

/** Lets a call find an object whose end has come up to this many milliseconds ago. */
async function beforeEnd<Command extends UpdateCommand | TransferCommand>(
  command: Command,
  driver: StoreDriver,
  atMost: number,
): Promise<Command> {
  const end = (await driver.findActive({ ...command, scope: null }))?.temporaryUntil
  const isMeant = end && end <= command.now && later(end, atMost) >= command.now
  return isMeant ? { ...command, now: later(end, -1) } : command
}

export const temporaryMutants: Mutants = {
  'counts the end of an object from its reservation': [
    overChanges((change) => {
      const { pending } = change.before
      if (!isActivation(change) || !pending || pending.temporarySeconds === null) return change
      return withActive(change, { temporaryUntil: later(pending.createdAt, pending.temporarySeconds * 1000) })
    }),
    'temporary objects: end their seconds after the confirm, however late that is',
    SCRIPTS.aboutTemporary,
  ],
  'takes the temporaryUntil of a row for an input': [
    storeInput('update', (input) => {
      const { temporaryUntil, temporarySeconds } = { ...input } as Partial<Record<string, unknown>>
      const isGiven = temporaryUntil !== undefined && temporarySeconds === undefined
      return isGiven ? { ...input, temporarySeconds: temporaryUntil === null ? null : 60 } : input
    }),
    'temporary objects: have an end only by temporarySeconds, not by the temporaryUntil of a row that is passed',
  ],
  'gives an object another end by a repeated confirm': [
    driverCall('confirm', async (command, driver) => {
      const result = await driver.confirm(command)
      if (result.outcome !== 'confirmed' || !result.isRepeat || !result.row.temporaryUntil) return result
      const { bucket, key, now } = command
      const changes = { temporarySeconds: 60 }
      await driver.update({ bucket, key, scope: null, attemptId: null, setMetadata: null, changes, now })
      return result
    }),
    'temporary objects: get no other end by a repeated confirm, which returns them also past their end',
    SCRIPTS.aboutTemporary,
  ],
  'gives an end to an object that stays by its replacement': [
    overChanges((change) => {
      const { active, pending } = change.before
      if (!isActivation(change) || !active || !pending || pending.temporarySeconds === null) return change
      const { updatedAt } = change.after.active!
      return withActive(change, { temporaryUntil: later(updatedAt, pending.temporarySeconds * 1000) })
    }),
    'temporary objects: never replace an object that stays by one with an end',
    SCRIPTS.aboutTemporary,
  ],
  'keeps the end of an object that is replaced': [
    overReplacements((active, { temporaryUntil }) => ({ ...active, temporaryUntil })),
    'temporary objects: take the end of each replacement, or stay after one without an end',
    SCRIPTS.aboutTemporary,
  ],
  'ends objects after the last valid date': [
    overChanges((change) =>
      change.after.active?.temporaryUntil?.getTime() === LAST_DATE
        ? withActive(change, { temporaryUntil: new Date(LAST_DATE + 1) })
        : change,
    ),
    'temporary objects: end on the last valid date at the latest',
  ],
  'updates objects past their end': [
    driverInput('update', (command, driver) => beforeEnd(command, driver, YEARS)),
    PAST_END,
    SCRIPTS.aboutTemporary,
  ],
  'updates objects in the millisecond in which they end': [
    driverInput('update', (command, driver) => beforeEnd(command, driver, 0)),
    PAST_END,
  ],
  'transfers objects past their end': [
    driverInput('transfer', (command, driver) => beforeEnd(command, driver, YEARS)),
    PAST_END,
    SCRIPTS.aboutTemporary,
  ],
  'hides objects past their end': [
    storeResult('find', (row, _input, _store, { now }) =>
      row?.temporaryUntil && row.temporaryUntil <= now() ? null : row,
    ),
    'temporary objects: count, and are returned by reads, until they are removed',
    SCRIPTS.aboutTemporary,
  ],
  'clears the end of an object in a transfer': [
    overChanges((change) => {
      const { before, after } = change
      const isTransfer = before.active && after.active && before.active.scope !== after.active.scope
      return isTransfer ? withActive(change, { temporaryUntil: null }) : change
    }),
    'temporary objects: keep their end in a transfer before it',
    SCRIPTS.aboutTemporary,
  ],
  'keeps the end of an object in its history': [
    overChanges((change) => {
      const { history, before } = change
      const temporaryUntil = before.active?.temporaryUntil ?? null
      return history ? { ...change, history: { ...history, temporaryUntil } } : change
    }),
    'temporary objects: have no end in history',
    SCRIPTS.aboutTemporary,
  ],
  'clears the end of an object in every update': [
    driverInput('update', (command) => ({
      ...command,
      changes: { temporarySeconds: null, ...command.changes },
    })),
    'temporary objects: end from now on by an update, stay with null, and keep their end otherwise',
    SCRIPTS.aboutTemporary,
  ],
  'never clears the end of an object in an update': [
    driverInput('update', (command) => {
      const { temporarySeconds, ...changes } = command.changes
      return { ...command, changes: { ...changes, ...(temporarySeconds != null && { temporarySeconds }) } }
    }),
    'temporary objects: end from now on by an update, stay with null, and keep their end otherwise',
    SCRIPTS.aboutTemporary,
  ],

  'lists temporary objects a millisecond late': [
    driverInput('listTemporary', (query) => ({ ...query, before: later(query.before, -1) })),
    LISTS,
    SCRIPTS.aboutTemporary,
  ],
  'lists no objects that end in the future': [
    storeInput('listTemporary', (input, _store, { now }) => {
      const isAhead = input?.before != null && input.before > now()
      return isAhead ? { ...input, before: now() } : input
    }),
    LISTS,
    SCRIPTS.aboutTemporary,
  ],
  'lists temporary objects by id': [
    driverResult('listTemporary', (rows) => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))),
    LISTS,
    SCRIPTS.aboutTemporary,
  ],
  'pages through temporary objects by their end only': [
    driverInput('listTemporary', (query) => ({
      ...query,
      after: query.after && { ...query.after, id: LAST_ID },
    })),
    LISTS,
  ],
  'lists the temporary objects of all scopes': [
    driverInput('listTemporary', (query) => ({ ...query, scope: null })),
    'listTemporary: lists only objects of the given scope',
    SCRIPTS.aboutTemporary,
  ],
}
