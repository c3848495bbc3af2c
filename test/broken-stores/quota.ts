import { StorageError, type ScopeUsage } from '../../src/adapter.js'
import {
  NO_QUOTA,
  SCRIPTS,
  isOverQuota,
  overDriver,
  storeInput,
  driverInput,
  driverResult,
  storeCall,
  driverCall,
  type Mutants,
} from './mutant.js'

const held = ({ bytes, reservedBytes }: ScopeUsage) => bytes + reservedBytes

export const quotaMutants: Mutants = {
  'checks the whole size of an overwrite against the quota': [
    storeInput('reserve', async (input, store) => {
      const max = input.quota?.maxBytes
      const used = held(await store.getScopeUsage(input.scope))
      if (max != null && used + input.declaredSize > max) {
        const params = { limit: 'maxBytes', max, used, requested: input.declaredSize }
        throw new StorageError('QUOTA_EXCEEDED', { params })
      }
      return input
    }),
    'quota: checks only the growth of an overwrite',
    SCRIPTS.aboutQuotas,
  ],
  'refuses to fill the quota of bytes exactly': [
    driverInput('reserve', (command) => ({
      ...command,
      quota: { ...command.quota, maxBytes: command.quota.maxBytes && command.quota.maxBytes - 1 },
    })),
    'quota: allows exactly maxBytes, and not one byte more',
    SCRIPTS.aboutQuotas,
  ],
  'allows one file more than the quota': [
    driverInput('reserve', (command) => ({
      ...command,
      quota: { ...command.quota, maxFiles: command.quota.maxFiles && command.quota.maxFiles + 1 },
    })),
    'quota: allows exactly maxFiles, and not one file more',
    SCRIPTS.aboutQuotas,
  ],
  'ignores the quota of a confirm': [
    driverInput('confirm', (command) => ({ ...command, quota: NO_QUOTA })),
    'quota: is checked again by confirm, for growth beyond the reservation',
    SCRIPTS.aboutQuotas,
  ],
  'releases an attempt whose confirm exceeds the quota': [
    driverResult('confirm', async (result, command, driver) => {
      if (isOverQuota(result)) await driver.release({ ...command, uploadId: null })
      return result
    }),
    'quota: is checked again by confirm, for growth beyond the reservation',
    SCRIPTS.aboutQuotas,
  ],
  'refuses every reserve of a scope over its quota': [
    storeInput('reserve', async (input, store) => {
      const max = input.quota?.maxBytes
      const used = held(await store.getScopeUsage(input.scope))
      if (max != null && used > max) {
        throw new StorageError('QUOTA_EXCEEDED', { params: { limit: 'maxBytes', max, used, requested: 0 } })
      }
      return input
    }),
    'quota: allows a scope over its quota to replace a file with one that is not larger',
    SCRIPTS.aboutQuotas,
  ],
  'treats a quota of 0 as unlimited': [
    driverInput('reserve', (command) => ({
      ...command,
      quota: { maxBytes: command.quota.maxBytes || null, maxFiles: command.quota.maxFiles || null },
    })),
    'quota: allows only changes without growth if the limits are 0',
    SCRIPTS.aboutQuotas,
  ],
  'reports maxFiles before maxBytes': [
    driverResult('reserve', async (result, command, driver) => {
      const { files, reservedFiles } = await driver.usage(command.scope)
      const [max, used] = [command.quota.maxFiles, files + reservedFiles]
      if (!isOverQuota(result) || max === null || used < max) return result
      return { outcome: 'maxFiles', max, used, reserved: reservedFiles, requested: 1 }
    }),
    'quota: names maxBytes first if both limits are exceeded',
  ],
  'reports only active bytes as used in a refusal': [
    storeCall('reserve', async (input, store) => {
      return store.reserve(input).catch(async (error: unknown) => {
        if (!(error instanceof StorageError) || error.params?.['limit'] !== 'maxBytes') throw error
        const { bytes } = await store.getScopeUsage(input.scope)
        throw new StorageError('QUOTA_EXCEEDED', { params: { ...error.params, used: bytes } })
      })
    }),
    'quota: checks the sum of stored and reserved bytes',
    SCRIPTS.aboutQuotas,
  ],
  'checks only active bytes against the quota': [
    storeInput('reserve', async (input, store) => {
      const { reservedBytes } = await store.getScopeUsage(input.scope)
      const maxBytes = input.quota?.maxBytes
      return {
        ...input,
        quota: { ...input.quota, maxBytes: maxBytes == null ? null : maxBytes + reservedBytes },
      }
    }),
    'quota: checks the sum of stored and reserved bytes',
    SCRIPTS.aboutQuotas,
  ],
  'allows one byte more than the quota if nothing is reserved': [
    driverInput('reserve', async (command, driver) => {
      const { bytes, reservedBytes } = await driver.usage(command.scope)
      const max = command.quota.maxBytes
      if (max === null || bytes === 0 || reservedBytes > 0) return command
      return { ...command, quota: { ...command.quota, maxBytes: max + 1 } }
    }),
    'quota: allows exactly maxBytes, and not one byte more',
  ],
  'excludes expired reservations from the quota': [
    storeInput('reserve', async (input, store) => {
      const expired = await store.listExpired({ scope: input.scope })
      const freed = expired.reduce((sum, { declaredSize }) => sum + declaredSize!, 0)
      const max = input.quota?.maxBytes
      return max == null ? input : { ...input, quota: { ...input.quota, maxBytes: max + freed } }
    }),
    'quota: counts expired reservations until they are dropped',
  ],
  'checks the quota of a scope against the usage of another': [
    driverInput('reserve', async (command, driver) => {
      const { bytes } = await driver.usage('bob')
      const max = command.quota.maxBytes
      if (max === null || command.scope === 'bob') return command
      return { ...command, quota: { ...command.quota, maxBytes: Math.max(0, max - bytes) } }
    }),
    'quota: ignores the usage of other scopes',
  ],
  'treats an empty quota as a quota of 0': [
    storeInput('reserve', (input) => {
      const isEmpty = input.quota != null && Object.keys(input.quota).length === 0
      return isEmpty ? { ...input, quota: { maxBytes: 0, maxFiles: 0 } } : input
    }),
    'quota: treats an absent limit as unlimited',
  ],
  'drops the earlier attempt of a refused reserve': [
    driverResult('reserve', async (result, command, driver) => {
      if (isOverQuota(result)) {
        await driver.release({ ...command, id: null, uploadId: null })
      }
      return result
    }),
    'quota: changes nothing if it refuses',
  ],
  'refuses a confirm for the number of files': [
    driverCall('confirm', async (command, driver) => {
      const pending = await driver.findPending({ ...command, uploadId: null })
      const { files = 0, reservedFiles = 0 } = pending ? await driver.usage(pending.scope) : {}
      const max = command.quota.maxFiles
      if (max === null || files + reservedFiles <= max) return driver.confirm(command)
      const excess = { max, used: files + reservedFiles, reserved: reservedFiles, requested: 0 }
      return { outcome: 'maxFiles', ...excess }
    }),
    'quota: never refuses a confirm for the number of files',
  ],
  'refuses every confirm of a scope over its quota': [
    driverCall('confirm', async (command, driver) => {
      const pending = await driver.findPending({ ...command, uploadId: null })
      const { bytes = 0, reservedBytes = 0 } = pending ? await driver.usage(pending.scope) : {}
      const used = bytes + reservedBytes
      const max = command.quota.maxBytes
      if (max === null || used <= max) return driver.confirm(command)
      const excess = { max, used, reserved: reservedBytes, requested: 0 }
      return { outcome: 'maxBytes', ...excess }
    }),
    'quota: allows a confirm within its reservation',
  ],
  'checks the growth of a replacement against its own reservation only': [
    driverCall('confirm', async (command, driver) => {
      const pending = await driver.findPending({ ...command, uploadId: null })
      const active = await driver.findActive(command)
      const max = command.quota.maxBytes
      if (!pending || !active || max === null || max >= active.size!) return driver.confirm(command)
      const { bytes, reservedBytes } = await driver.usage(pending.scope)
      const used = bytes + reservedBytes
      const excess = { max, used, reserved: reservedBytes, requested: command.size }
      return { outcome: 'maxBytes', ...excess }
    }),
    'quota: allows the confirm of a replacement that is not larger than the object',
  ],
  'ignores the quota of a reserve that takes over a key': [
    driverInput('reserve', async (command, driver) => {
      const pending = await driver.findPending({ ...command, id: null, uploadId: null })
      const isTakenOver = pending !== null && pending.scope !== command.scope
      return isTakenOver ? { ...command, quota: NO_QUOTA } : command
    }),
    'quota: counts a key taken over from another scope as a new file',
  ],
  'ignores the quota of the confirm of a replacement': [
    driverInput('confirm', async (command, driver) => {
      const active = await driver.findActive(command)
      return active ? { ...command, quota: NO_QUOTA } : command
    }),
    'quota: checks the growth of a replacement beyond its reservation',
  ],
  'refuses a quota without what unfinished uploads hold': [
    overDriver((driver) => ({
      async reserve(command) {
        const result = await driver.reserve(command)
        return isOverQuota(result) ? { ...result, reserved: 0 } : result
      },
      async confirm(command) {
        const result = await driver.confirm(command)
        return isOverQuota(result) ? { ...result, reserved: 0 } : result
      },
    })),
    'quota: checks the sum of stored and reserved bytes',
    SCRIPTS.aboutQuotas,
  ],
}
