import { createAttemptId, StorageError, type QuotaLimits } from '../../src/adapter.js'
import {
  overChanges,
  overDriver,
  withActive,
  type Change,
  driverInput,
  driverResult,
  driverCall,
  type Mutants,
} from './mutant.js'

const isNew = ({ before, after }: Change) =>
  before.active === null && after.active !== null && before.pending?.attemptId !== after.active.attemptId
const isReceiving = ({ before, after }: Change) =>
  before.active?.storageKey === null &&
  after.active !== null &&
  after.active.storageKey !== null &&
  before.active.attemptId === after.active.attemptId

/** Mutants of `adopt`. */
export const adoptMutants: Mutants = {
  'applies the last quota of a scope to what it adopts': [
    overDriver((driver) => {
      const quotas = new Map<string, QuotaLimits>()
      return {
        async reserve(command) {
          quotas.set(command.scope, command.quota)
          return driver.reserve(command)
        },
        async adopt(command) {
          const { maxBytes = null } = quotas.get(command.scope) ?? {}
          const { bytes, reservedBytes } = await driver.usage(command.scope)
          const isOver = maxBytes !== null && bytes + reservedBytes + command.size > maxBytes
          if (isOver) throw new StorageError('QUOTA_EXCEEDED')
          return driver.adopt(command)
        },
      }
    }),
    'adopt: is refused by no quota, and counts toward the next one',
  ],
  'forgets the eTag of adopted bytes': [
    driverInput('adopt', (command) => ({ ...command, eTag: null })),
    'adopt: creates an active row',
    'adopt: stores any text of any length',
  ],
  'makes up a content type of adopted bytes': [
    driverInput('adopt', (command) => ({
      ...command,
      contentType: command.contentType ?? 'application/octet-stream',
    })),
    'adopt: needs no eTag, route, filename, content type and metadata',
  ],
  'gives adopted bytes an id of the current time': [
    driverInput('adopt', (command) => ({ ...command, id: createAttemptId({ now: () => command.now }) })),
    'adopt: makes an id that carries createdAt, also before 1970 and in the year 9999',
  ],
  'cuts off the storage key of adopted bytes at 1000 UTF-16 units': [
    driverResult('adopt', (result) => {
      if (result.outcome !== 'adopted' || result.row.storageKey!.length < 500) return result
      return { ...result, row: { ...result.row, storageKey: result.row.storageKey!.slice(0, 500) } }
    }),
    'adopt: stores any text of any length',
  ],
  'forgets when adopted bytes were created if they are replaced': [
    driverCall('confirm', async (command, driver) => {
      const active = await driver.findActive({ ...command, scope: null })
      const result = await driver.confirm(command)
      if (result.outcome !== 'confirmed' || active?.storageKey !== 'adopted') return result
      return { ...result, row: { ...result.row, createdAt: command.now } }
    }),
    'adopt: can be replaced, updated and removed like any object',
  ],
  'lets uploads write to adopted bytes for an hour': [
    overChanges((change) =>
      isNew(change)
        ? withActive(change, { writableUntil: new Date(change.row.updatedAt.getTime() + 3_600_000) })
        : change,
    ),
    'adopt: leaves nothing that could still write to the bytes',
  ],
  'refuses the repeat of an adoption': [
    driverCall('adopt', async (command, driver) => {
      const active = await driver.findActive(command)
      const isRepeat =
        active !== null &&
        active.storageKey === command.storageKey &&
        active.scope === command.scope &&
        active.id === active.attemptId
      return isRepeat ? { outcome: 'key-conflict' } : driver.adopt(command)
    }),
    'adopt: returns the object as known to a repeat after a lost response',
    'adopt for an object without a storage key: works for bytes under its own key',
    'events of adopt: record nothing of known bytes and refusals',
  ],
  'refuses bytes of an object if the scope could not hold them twice': [
    driverCall('adopt', async (command, driver) => {
      const { bytes, reservedBytes } = await driver.usage(command.scope)
      const isTooLarge = bytes + reservedBytes + command.size > Number.MAX_SAFE_INTEGER
      return isTooLarge ? { outcome: 'sum' } : driver.adopt(command)
    }),
    'adopt for an object without a storage key: adds nothing to the sum of the scope, however large that is',
  ],
  'counts adopted bytes beyond what is exact': [
    driverResult('adopt', (result, command, driver) =>
      result.outcome === 'sum' ? driver.adopt({ ...command, size: 0 }) : result,
    ),
    'adopt: refuses a sum that is no longer a safe integer',
  ],
  'replaces an object of the same scope by adopted bytes': [
    driverResult('adopt', async (result, command, driver) => {
      if (result.outcome !== 'key-conflict') return result
      const active = await driver.findActive(command)
      if (active?.scope !== command.scope) return result
      return { outcome: 'known', object: active, scopes: [] }
    }),
    'adopt at a key in use: is a KEY_CONFLICT if another object has the key',
    'adopt for an object without a storage key: is a KEY_CONFLICT while a replacement is in progress, and ends one that has expired',
    'events of adopt: record nothing of known bytes and refusals',
  ],
  'ends an upload of the same scope that is in progress at the key of adopted bytes': [
    driverCall('adopt', async (command, driver) => {
      const pending = await driver.findPending({ ...command, id: null, uploadId: null })
      const active = await driver.findActive(command)
      const result = await driver.adopt(command)
      if (result.outcome !== 'key-conflict' || active || pending?.scope !== command.scope) return result
      await driver.release({ ...command, id: null, scope: null, uploadId: null })
      return driver.adopt(command)
    }),
    'adopt at a key in use: is a KEY_CONFLICT if an upload is in progress there, of any scope',
  ],
  "refuses to end another scope's expired upload at the key of adopted bytes": [
    driverCall('adopt', async (command, driver) => {
      const pending = await driver.findPending({ ...command, id: null, uploadId: null })
      const result = await driver.adopt(command)
      return pending && pending.scope !== command.scope && result.outcome === 'adopted'
        ? { outcome: 'key-conflict' }
        : result
    }),
    'adopt at a key in use: ends an upload that has expired, of any scope',
    'events of adopt: record a new object as activated',
  ],
  'still counts an expired upload that an adoption has ended': [
    overDriver((driver) => {
      const ended: string[] = []
      return {
        async adopt(command) {
          const pending = await driver.findPending({ ...command, id: null, uploadId: null })
          const result = await driver.adopt(command)
          if (pending && result.outcome === 'adopted') ended.push(pending.scope)
          return result
        },
        async count(query) {
          const wrong = query.statuses.includes('pending')
            ? ended.filter((scope) => scope === query.scope)
            : []
          return (await driver.count(query)) + wrong.length
        },
      }
    }),
    'adopt at a key in use: ends an upload that has expired, of any scope',
  ],
  'revives history by adopting at its key': [
    driverCall('adopt', async (command, driver) => {
      const old = await driver.find(command)
      const result = await driver.adopt(command)
      return result.outcome === 'adopted' && old?.status === 'deleted' && result.row.storageKey === 'adopted'
        ? { ...result, row: { ...result.row, id: old.id } }
        : result
    }),
    'adopt at a key in use: gives the key of history to a new object',
  ],
  'takes the filename of adopted bytes for an object that receives them': [
    driverCall('adopt', async (command, driver) => {
      const active = await driver.findActive(command)
      const result = await driver.adopt(command)
      if (result.outcome !== 'adopted' || !active || command.filename === null) return result
      return { ...result, row: { ...result.row, filename: command.filename } }
    }),
    'adopt for an object without a storage key: sets only its storage key and updatedAt',
  ],
  'takes an object for the owner of the bytes under its own key when it adopts them': [
    driverCall('adopt', async (command, driver) => {
      const active = await driver.findActive(command)
      return active?.storageKey === null && command.key === command.storageKey
        ? { outcome: 'known', object: active, scopes: [] }
        : driver.adopt(command)
    }),
    'adopt for an object without a storage key: works for bytes under its own key',
  ],
  'gives an object bytes that are known': [
    driverCall('adopt', async (command, driver) => {
      const active = await driver.findActive(command)
      const result = await driver.adopt(command)
      return result.outcome === 'known' && active?.storageKey === null && active.scope === command.scope
        ? { outcome: 'adopted', row: active, scopes: [] }
        : result
    }),
    'adopt for an object without a storage key: changes nothing if something names the bytes',
  ],
  'gives bytes to an object while its replacement is in progress': [
    driverCall('adopt', async (command, driver) => {
      const active = await driver.findActive(command)
      const result = await driver.adopt(command)
      if (result.outcome !== 'key-conflict' || active?.storageKey !== null || active.scope !== command.scope)
        return result
      await driver.release({ ...command, id: null, scope: null, uploadId: null })
      return driver.adopt(command)
    }),
    'adopt for an object without a storage key: is a KEY_CONFLICT while a replacement is in progress, and ends one that has expired',
  ],
  'forgets until when an upload can write to bytes that its object received': [
    overChanges((change) =>
      isReceiving(change) ? withActive(change, { writableUntil: change.row.updatedAt }) : change,
    ),
    'adopt for an object without a storage key: records its leftover with the time until which its upload could write',
  ],
}
