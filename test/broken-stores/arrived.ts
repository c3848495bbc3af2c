import type { ConfirmCommand, StorageObject, StoreDriver } from '../../src/adapter.js'
import {
  NO_QUOTA,
  SCRIPTS,
  driverCall,
  driverInput,
  driverResult,
  overChanges,
  overTables,
  withActive,
  type Change,
  type Mutants,
} from './mutant.js'

const LAST_DATE = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const LAST_ID = 'ffffffff-ffff-7fff-bfff-ffffffffffff'
const IN_THE_WAY = 'arrived attempts: are in the way of others, whatever their time'
const LISTS = 'listArrived: lists arrived attempts, by the end of their time and id'
const LATE =
  'arrived attempts: arrive after their reservation has expired, for a time until the last valid date'

interface Reference {
  readonly bucket: string
  readonly key: string
}

async function arrivedAt(driver: StoreDriver, { bucket, key }: Reference): Promise<StorageObject | null> {
  const pending = await driver.findPending({ bucket, key, id: null, uploadId: null, scope: null })
  return pending?.arrivedAt ? pending : null
}

const release = (driver: StoreDriver, { bucket, key }: Reference, now: Date) =>
  driver.release({ bucket, key, id: null, scope: null, uploadId: null, now })

const isArrival = ({ before, after }: Change) => !before.pending?.arrivedAt && !!after.pending?.arrivedAt
const isAcceptance = ({ before, after }: Change) =>
  !!before.pending?.arrivedAt && !!after.active && !after.pending

/** Changes the commands that accept an arrived attempt. */
const overAccept = (changed: (command: ConfirmCommand, arrived: StorageObject) => Partial<ConfirmCommand>) =>
  driverInput('confirm', async (command, driver) => {
    const arrived = command.accept ? await arrivedAt(driver, command) : null
    return arrived ? { ...command, ...changed(command, arrived) } : command
  })

export const arrivedMutants: Mutants = {
  'keeps the upload id of an arrived attempt': [
    overChanges((change) => {
      const { before, after } = change
      if (!isArrival(change) || !before.pending) return change
      const pending = { ...after.pending!, uploadId: before.pending.uploadId }
      return { ...change, after: { ...after, pending } }
    }),
    'arrived attempts: stay pending, with what has arrived, and the active row stays',
    SCRIPTS.aboutChecks,
  ],
  'returns an arrived attempt to confirms with another size or eTag': [
    driverCall('confirm', async (command, driver) => {
      const result = await driver.confirm(command)
      if (result.outcome !== 'not-found' || command.accept) return result
      const row = await arrivedAt(driver, command)
      const isNamed = row && row.id === command.id && (command.scope ?? row.scope) === row.scope
      return isNamed ? { outcome: 'confirmed', row, isRepeat: true, replaced: null } : result
    }),
    'arrived attempts: are returned to the same confirm again, and to none with another size or eTag',
    SCRIPTS.aboutChecks,
  ],
  'compares no arrival with the quota': [
    overTables((tables, driver) => ({
      confirm(command) {
        const isChecked = tables.liveRows(command).pending?.checkSeconds != null
        return driver.confirm(isChecked ? { ...command, quota: NO_QUOTA } : command)
      },
    })),
    'arrived attempts: reserve their true size, which the quota allows on arrival',
  ],
  'lets no attempt arrive after its reservation has expired': [
    overTables((tables, driver) => ({
      async confirm(command) {
        const { pending } = tables.liveRows(command)
        const isLate =
          pending?.checkSeconds != null && !pending.arrivedAt && pending.expiresAt! <= command.now
        return isLate ? { outcome: 'not-found' } : driver.confirm(command)
      },
    })),
    LATE,
    SCRIPTS.aboutChecks,
  ],
  'gives checks a time after the last valid date': [
    overChanges((change) => {
      const { after } = change
      if (!isArrival(change) || after.pending!.expiresAt!.getTime() !== LAST_DATE) return change
      const pending = { ...after.pending!, expiresAt: new Date(LAST_DATE + 1) }
      return { ...change, after: { ...after, pending } }
    }),
    LATE,
  ],
  'lists arrived attempts as expired': [
    driverResult('listExpired', async (rows, { scope, before, limit, after }, driver) => {
      const arrived = await driver.listArrived({ scope, dueBefore: before, limit, after })
      return [...rows, ...arrived].slice(0, limit)
    }),
    'arrived attempts: never expire',
    SCRIPTS.aboutChecks,
  ],
  'purges arrived attempts whose time is over': [
    driverCall('purgeExpired', async (command, driver) => {
      const { scope, before, now } = command
      const due = await driver.listArrived({ scope, dueBefore: before, limit: 1000, after: null })
      for (const row of due) await release(driver, row, now)
      return driver.purgeExpired(command)
    }),
    'arrived attempts: never expire',
    SCRIPTS.aboutChecks,
  ],
  'gives others the key of an arrived attempt whose time is over': [
    driverInput('reserve', async (command, driver) => {
      const row = await arrivedAt(driver, command)
      const isOver = row && row.scope !== command.scope && row.expiresAt! <= command.now
      if (isOver && !(await driver.findActive(command))) await release(driver, command, command.now)
      return command
    }),
    IN_THE_WAY,
    SCRIPTS.aboutChecks,
  ],
  'overwrites arrived attempts although it must not overwrite': [
    driverInput('reserve', async (command, driver) => {
      const isFree = (await arrivedAt(driver, command)) && !(await driver.findActive(command))
      return isFree ? { ...command, overwrite: true } : command
    }),
    IN_THE_WAY,
    SCRIPTS.aboutChecks,
  ],
  'adopts bytes at the key of an arrived attempt': [
    driverInput('adopt', async (command, driver) => {
      if (await arrivedAt(driver, command)) await release(driver, command, command.now)
      return command
    }),
    IN_THE_WAY,
    SCRIPTS.aboutChecks,
  ],
  'transfers objects that an arrived attempt would replace': [
    driverInput('transfer', async (command, driver) => {
      const active = await driver.findActive({ ...command, scope: null })
      if (active?.scope === command.from && (await arrivedAt(driver, command))) {
        await release(driver, command, command.now)
      }
      return command
    }),
    'arrived attempts: keep the object that they would replace from a transfer',
    SCRIPTS.aboutChecks,
  ],
  'leaves no leftover of an arrived attempt that ends without a verdict': [
    overChanges((change) => {
      const { before, after, leftovers, rejection } = change
      const ended = before.pending?.arrivedAt && !rejection && before.pending.id !== after.pending?.id
      return ended
        ? { ...change, leftovers: leftovers.filter(({ attemptId }) => attemptId !== before.pending?.id) }
        : change
    }),
    'arrived attempts: end by a new upload, a removal or a release of their owner',
    SCRIPTS.aboutChecks,
  ],
  'sets the upload id of an arrived attempt': [
    driverCall('setUploadId', async (command, driver) => {
      const row = await arrivedAt(driver, command)
      const isNamed = row?.id === command.id
      return isNamed
        ? { outcome: 'set', row: { ...row, uploadId: command.uploadId } }
        : driver.setUploadId(command)
    }),
    'arrived attempts: take no upload id',
    SCRIPTS.aboutChecks,
  ],

  'forgets the eTag of an arrived attempt that is accepted': [
    overChanges((change) => (isAcceptance(change) ? withActive(change, { eTag: null }) : change)),
    'confirm with accept: makes an arrived attempt active, in place of the active row',
    SCRIPTS.aboutChecks,
  ],
  'ignores the content type of an acceptance': [
    overAccept(() => ({ contentType: null })),
    'confirm with accept: sets the content type if one is given',
    SCRIPTS.aboutChecks,
  ],
  'counts the end of a checked object from its arrival': [
    overChanges((change) => {
      const { pending } = change.before
      if (!isAcceptance(change) || !pending?.temporarySeconds || !change.after.active?.temporaryUntil)
        return change
      const temporaryUntil = new Date(pending.arrivedAt!.getTime() + pending.temporarySeconds * 1000)
      return withActive(change, { temporaryUntil })
    }),
    'confirm with accept: counts the end of the object from the acceptance',
    SCRIPTS.aboutChecks,
  ],
  'refuses to accept an attempt again': [
    driverResult('confirm', (result, { accept }) =>
      accept && result.outcome === 'confirmed' && result.isRepeat ? { outcome: 'not-found' } : result,
    ),
    'confirm with accept: returns the same object to a repeated call',
    SCRIPTS.aboutChecks,
  ],
  'compares acceptances with the quota': [
    driverCall('confirm', async (command, driver) => {
      const { maxBytes: max } = command.quota
      const row = command.accept && max !== null ? await arrivedAt(driver, command) : null
      if (row === null || row.size! <= max!) return driver.confirm(command)
      return { outcome: 'maxBytes', max: max!, used: 0, reserved: 0, requested: row.size! }
    }),
    'confirm with accept: ignores the quota, which held on arrival',
  ],
  'accepts attempts that have not arrived': [
    driverInput('confirm', async (command, driver) =>
      (await arrivedAt(driver, command)) ? command : { ...command, accept: false },
    ),
    'confirm with accept: refuses an attempt that has not arrived, or with another size or eTag',
    SCRIPTS.aboutChecks,
  ],
  'accepts attempts with any size and eTag': [
    overAccept(({ id, size, eTag }, row) =>
      id === row.id ? { size: row.size!, eTag: row.eTag } : { size, eTag },
    ),
    'confirm with accept: refuses an attempt that has not arrived, or with another size or eTag',
    SCRIPTS.aboutChecks,
  ],
  'accepts whichever attempt has arrived': [
    overAccept((_, { id }) => ({ id })),
    'confirm with accept: refuses an attempt that another upload has displaced',
    SCRIPTS.aboutChecks,
  ],
  'accepts no attempt whose time is over': [
    driverCall('confirm', async (command, driver) => {
      const row = command.accept ? await arrivedAt(driver, command) : null
      return row && row.expiresAt! <= command.now ? { outcome: 'not-found' } : driver.confirm(command)
    }),
    'confirm with accept: counts after the time for the check is over',
    SCRIPTS.aboutChecks,
  ],

  'lists arrived attempts a millisecond late': [
    driverInput('listArrived', (query) => ({
      ...query,
      dueBefore: query.dueBefore && new Date(query.dueBefore.getTime() - 1),
    })),
    LISTS,
    SCRIPTS.aboutChecks,
  ],
  'lists arrived attempts by id': [
    driverResult('listArrived', (rows) => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))),
    LISTS,
    SCRIPTS.aboutChecks,
  ],
  'pages through arrived attempts by their time only': [
    driverInput('listArrived', (query) => ({
      ...query,
      after: query.after && { ...query.after, id: LAST_ID },
    })),
    LISTS,
  ],
  'lists the arrived attempts of all scopes': [
    driverInput('listArrived', (query) => ({ ...query, scope: null })),
    'listArrived: lists only attempts of the given scope',
    SCRIPTS.aboutChecks,
  ],
}
